// autodist logs JOB [--rank R]... [-f] [--stderr]
#include "cli/commands.h"
#include "cli/display_options.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "control/follow_job.h"
#include "control/log_printer.h"

namespace autodist::cli {
namespace {

struct LogsOptions {
  std::string job;
  std::vector<uint32_t> ranks;
  bool follow = false;
  bool only_stderr = false;
  DisplayOptions display;
};

int Logs(const LogsOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status right = CheckRanks(options.ranks, *job);
  if (!right.ok()) return Fail(right, kExitUsage);
  auto view = ViewOf(options.display, control::ProcessesOf(*job));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  view->only_stderr = options.only_stderr;
  if (!options.ranks.empty()) view->show = display::ShownRanks::Of(options.ranks);
  if (options.ranks.size() == 1) view->raw = options.ranks[0];
  control::LogPrinter output(*std::move(view));
  if (options.follow) {
    const auto ended = control::FollowJob(*job, std::nullopt, output);
    return ended.ok() ? 0 : Fail(ended.status(), kExitUsage);
  }
  output.SetJob(*job);
  std::optional<uint32_t> last;
  control::LogReader(job->attempt_folder())
      .ReadAll([&](uint32_t rank, display::Stream stream, std::string_view bytes) {
        if (last && *last != rank) output.Finish();  // its unfinished line comes before the next
        last = rank;
        output.Take(rank, stream, bytes);
      });
  output.Finish();
  return 0;
}

}  // namespace

Command AddLogs(CLI::App& app) {
  auto options = std::make_shared<LogsOptions>();
  app.add_option("JOB", options->job, kJobHelp)->required();
  CLI::Option* const rank =
      app.add_option("--rank", options->ranks, "Only this rank; may be given again")
          ->allow_extra_args(false);
  app.add_flag("-f,--follow", options->follow, "Go on as the ranks write, until the job has ended");
  app.add_flag("--stderr", options->only_stderr,
               "Only what the ranks wrote to stderr, and that to stdout");
  AddDisplayOptions(app, options->display, "Options");
  app.get_option("--show")->excludes(rank);
  app.footer(R"(
Prints what the ranks have written, one rank after the other, each line with its "[node:rank] ". Of
one --rank alone it prints the very bytes. What ranks wrote to stderr goes to stderr. If the job was
restarted it is the last attempt's; those of the others are in the job's log folder.

Examples:
  autodist logs last
  autodist logs 3fa9c1 --rank 0 > rank-0.txt
  autodist logs last --show 0,8-15 -f
  autodist logs last --stderr | grep -i error)");
  return [options] { return Logs(*options); };
}

}  // namespace autodist::cli
