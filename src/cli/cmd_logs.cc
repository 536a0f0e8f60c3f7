// autodist logs [JOB] [--rank R]... [--attempt N] [-f] [--stderr] [--tail N] [--since TIME]
//   [--timestamps]
#include <limits>

#include "base/exit_codes.h"
#include "base/quantity.h"
#include "base/typed_command.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/run_options.h"
#include "cli/values.h"
#include "control/follow_job.h"
#include "control/job_record.h"
#include "logs/log_printer.h"

namespace autodist::cli {
namespace {

struct LogsOptions {
  std::vector<uint32_t> ranks;
  std::optional<uint32_t> attempt;  // from 1 on, as reports number them
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

// Returns the job with the logs of this attempt. The number of ranks of an earlier one is unknown.
Result<v1::JobStatus> InAttempt(v1::JobStatus job, uint32_t attempt) {
  const uint32_t attempts = job.attempt() + 1;
  if (attempt > attempts) {
    return Error(StatusCode::kInvalidArgument, "job " + job.job_id() + " has no attempt " +
                                                   std::to_string(attempt) + ", but " +
                                                   base::Count(attempts, "attempt"));
  }
  if (attempt == attempts) return job;
  job.set_attempt(attempt - 1);
  job.set_attempt_folder(control::AttemptFolder(job.log_folder(), attempt - 1));
  job.clear_processes();
  return job;
}

std::string NothingText(const v1::JobStatus& job) {
  const bool launches = job.phase() == v1::JOB_PHASE_LAUNCHING && !job.chief_gone();
  return "job " + job.job_id() +
         (launches ? " is launching: no rank has written anything yet" : ": no such output");
}

int Logs(const LogsOptions& options, const v1::JobStatus& last) {
  const auto job = InAttempt(last, options.attempt.value_or(last.attempt() + 1));
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  const Status right = CheckRanks(options.ranks, *job);
  if (!right.ok()) return Fail(right, kExitUsage);
  auto view = ViewOf(options.display, logs::ProcessesOf(*job));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  // The nodes of an earlier attempt's ranks are not recorded.
  const bool nodes_known = job->attempt() == last.attempt() || job->nodes_size() == 1;
  const bool timed = !nodes_known && view->prefix == display::PrefixStyle::kTime;
  if (!nodes_known && view->prefix != display::PrefixStyle::kNone) {
    view->prefix = display::PrefixStyle::kRank;
  }
  view->only_stderr = options.only_stderr;
  if (!options.ranks.empty()) view->show = display::ShownRanks::Of(options.ranks);
  view->time_stamps = options.time_stamps || timed;
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
    return ended.ok() ? 0
                      : Fail(Annotate(ended.status(), "job " + job->job_id()), kExitCannotLaunch);
  }
  control::ShowLogs(*job, SkipOf(options, output), output);
  if (last.attempt() > 0 && !options.attempt) {
    base::Log(base::LogLevel::kInfo,
              "job " + last.job_id() + " was restarted; " +
                  base::TypedCommand("logs " + last.job_id() + " --attempt " +
                                     std::to_string(last.attempt())) +
                  " prints the output of the attempt before");
  }
  if (!output.took_any()) base::Log(base::LogLevel::kInfo, NothingText(*job));
  return 0;
}

}  // namespace

JobCommand AddLogs(CLI::App& app) {
  auto options = std::make_shared<LogsOptions>();
  CLI::Option* const rank = app.add_option("--rank", options->ranks, "Only this rank; repeatable")
                                ->allow_extra_args(false)
                                ->type_name("R");
  CLI::Option* const follow =
      app.add_flag("-f,--follow", options->follow, "Continue until the job ends");
  app.add_option("--attempt", options->attempt,
                 "Only this attempt, as `autodist report` numbers them: 1 is the first; default: "
                 "the last")
      ->check(WholeNumber(1, std::numeric_limits<uint32_t>::max()))
      ->excludes(follow);
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
restart, prints the last attempt; --attempt prints another one, without the names
of nodes if the job has several.

Examples:
  autodist logs last
  autodist logs 3fa9c1 --rank 0 > rank-0.txt
  autodist logs last --show 0,8-15 -f
  autodist logs last --tail 20 -f
  autodist logs last --since 5m --timestamps
  autodist logs last --stderr | grep -i error
  autodist logs last --attempt 1)");
  return {[options](const v1::JobStatus& job) { return Logs(*options, job); }};
}

}  // namespace autodist::cli
