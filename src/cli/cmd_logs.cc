// autodist logs [JOB] [--rank R]... [-f] [--stderr] [--tail N] [--since TIME] [--timestamps]
#include <limits>

#include "cli/commands.h"
#include "cli/display_options.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "cli/values.h"
#include "control/follow_job.h"
#include "control/job_record.h"
#include "logs/log_printer.h"

namespace autodist::cli {
namespace {

struct LogsOptions {
  std::string job;
  std::vector<uint32_t> ranks;
  bool follow = false;
  bool only_stderr = false;
  std::optional<uint64_t> last_lines;
  std::string since;
  bool time_stamps = false;
  v1::Display display;
};

// What is not to be shown, of what is there now.
control::Skip SkipOf(const LogsOptions& options, logs::LogPrinter& output) {
  const auto since = PastTime(options.since, std::chrono::system_clock::now());
  return [&options, &output, since](logs::LogReader& logs) {
    if (options.last_lines) output.SkipLines(logs.SkipToLastLines(*options.last_lines));
    if (since) logs.SkipBefore(*since);
    if ((!since && !options.time_stamps) || logs.HasTimes()) return;
    base::Log(
        base::LogLevel::kWarning,
        "when the ranks wrote this is not known for all of them, as an older autodist kept no "
        "times of it");
  };
}

int Logs(const LogsOptions& options) {
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status right = CheckRanks(options.ranks, *job);
  if (!right.ok()) return Fail(right, kExitUsage);
  auto view = ViewOf(options.display, logs::ProcessesOf(*job));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  view->only_stderr = options.only_stderr;
  if (!options.ranks.empty()) view->show = display::ShownRanks::Of(options.ranks);
  view->time_stamps = options.time_stamps;
  if (options.ranks.size() == 1) {
    view->prefix = display::PrefixStyle::kNone;
    // Of some of it lines are wanted, of which a bar is one.
    const bool all = !options.last_lines && options.since.empty();
    if (!options.time_stamps && all) view->raw = options.ranks[0];
  }
  view->each_bar = options.last_lines.has_value();
  logs::LogPrinter output(*std::move(view));
  if (options.follow) {
    const auto ended = control::FollowJob(*job, SkipOf(options, output), output);
    return ended.ok() ? 0 : Fail(ended.status(), kExitUsage);
  }
  control::ShowLogs(*job, SkipOf(options, output), output);
  if (job->attempt() > 0) {
    base::Log(base::LogLevel::kInfo,
              "job " + job->job_id() + " was restarted: what ranks wrote before is in " +
                  control::AttemptFolder(job->log_folder(), job->attempt() - 1));
  }
  if (!output.took_any()) {
    base::Log(base::LogLevel::kInfo, "job " + job->job_id() + ": nothing of that was written");
  }
  return 0;
}

}  // namespace

Command AddLogs(CLI::App& app) {
  auto options = std::make_shared<LogsOptions>();
  AddJob(app, options->job);
  CLI::Option* const rank =
      app.add_option("--rank", options->ranks, "Only this rank; may be given again")
          ->allow_extra_args(false);
  app.add_flag("-f,--follow", options->follow, "Go on as the ranks write, until the job has ended");
  app.add_flag("--stderr", options->only_stderr,
               "Only what the ranks wrote to stderr, and that to stdout");
  app.add_option("--tail", options->last_lines, "Only the last N lines of all these ranks together")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  app.add_option("--since", options->since,
                 "Only what came since then: 30s, 5m, 2h or 1d ago, or 2026-11-23T14:03, which is "
                 "local time unless it ends in a zone (Z, +01:00)")
      ->check(PastTimeText());
  app.add_flag("--timestamps", options->time_stamps,
               "Begin each line with the time at which it came");
  AddDisplayOptions(app, options->display, "Options");
  app.get_option("--show")->excludes(rank);
  app.footer(R"(
Prints what the ranks have written, in the order of time (to a tenth of a second), each line with
its "[node:rank] ". Of one --rank alone it prints the very bytes, with --tail, --since or --timestamps
lines, of which a bar is one: its last state; on a terminal lines without the escape sequences, but for
colours. What ranks wrote to stderr goes to
stderr. If the job was restarted it is the last attempt's; that of
those before is in the job's log folder. What an older autodist has kept without times comes one rank
after the other.

Examples:
  autodist logs last
  autodist logs 3fa9c1 --rank 0 > rank-0.txt
  autodist logs last --show 0,8-15 -f
  autodist logs last --tail 20 -f
  autodist logs last --since 5m --timestamps
  autodist logs last --stderr | grep -i error)");
  return [options] { return Logs(*options); };
}

}  // namespace autodist::cli
