// autodist logs [JOB] [--rank R]... [-f] [--stderr] [--tail N] [--since TIME] [--timestamps]
#include <limits>

#include "cli/commands.h"
#include "cli/job_text.h"
#include "cli/named_job.h"
#include "cli/run_options.h"
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

// Skips the part of the existing output that the options exclude.
control::Skip SkipOf(const LogsOptions& options, logs::LogPrinter& output) {
  const auto since = PastTime(options.since, std::chrono::system_clock::now());
  return [&options, &output, since](logs::LogReader& logs) {
    if (options.last_lines) output.SkipLines(logs.SkipToLastLines(*options.last_lines));
    if (since) logs.SkipBefore(*since);
    if ((!since && !options.time_stamps) || logs.HasTimes()) return;
    base::Log(base::LogLevel::kWarning, "some output has no times: an older autodist wrote it");
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
    // A part of the output is shown as lines; a progress bar is one line.
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
              "job " + job->job_id() + " was restarted; earlier output is in " +
                  control::AttemptFolder(job->log_folder(), job->attempt() - 1));
  }
  if (!output.took_any()) {
    base::Log(base::LogLevel::kInfo, "job " + job->job_id() + ": no such output");
  }
  return 0;
}

}  // namespace

Command AddLogs(CLI::App& app) {
  auto options = std::make_shared<LogsOptions>();
  AddJob(app, options->job);
  CLI::Option* const rank = app.add_option("--rank", options->ranks, "Only this rank; repeatable")
                                ->allow_extra_args(false)
                                ->type_name("R");
  app.add_flag("-f,--follow", options->follow, "Continue until the job ends");
  app.add_flag("--stderr", options->only_stderr, "Only the ranks' stderr, on stdout");
  app.add_option("--tail", options->last_lines, "Only the last N lines of all these ranks together")
      ->check(WholeNumber(0, std::numeric_limits<uint32_t>::max()));
  app.add_option("--since", options->since,
                 "Only output since then: 30s, 5m, 2h, 1d, or a time such as 2026-11-23T14:03 "
                 "(local, unless it ends in Z or +01:00)")
      ->check(PastTimeText());
  app.add_flag("--timestamps", options->time_stamps, "Print the time of each line");
  AddDisplayOptions(app, options->display, "Options");
  app.get_option("--show")->excludes(rank);
  app.footer(R"(
Prints the output of all ranks in order of time, each line with its "[node:rank] "
prefix. On a terminal, and with --tail, --since or --timestamps, each progress bar
has its last state, and of escape sequences only colors remain. Otherwise, one
--rank alone is printed byte for byte. The ranks' stderr goes to stderr. After a
restart, prints the last attempt; the log folder has the others.

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
