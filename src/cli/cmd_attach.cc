// autodist attach [JOB] [--rank R] [-i]
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "base/exit_codes.h"
#include "chief/input/terminal_input.h"
#include "chief/loop/signal_watcher.h"
#include "cli/attach_session.h"
#include "cli/commands.h"
#include "cli/display_options.h"
#include "cli/named_job.h"
#include "control/follow_job.h"
#include "logs/log_printer.h"

namespace autodist::cli {
namespace {

constexpr size_t kLastLines = 5;  // of earlier output, per rank

struct AttachOptions {
  std::string job;
  std::optional<uint32_t> rank;
  bool interactive = false;
  bool all = false;
  v1::Display display;
};

// Written by the signal handler, because the only thread may be blocked on a slow terminal.
std::string farewell;

void Leave(int signal) {
  chief::RawTerminal::Restore();
  (void)!write(STDERR_FILENO, farewell.data(), farewell.size());
  _exit(128 + signal);
}

void LeaveOnSignals(const v1::JobStatus& job) {
  farewell = "\nautodist: " + GoesOnText(job) + "\n";
  struct sigaction action {};
  action.sa_handler = Leave;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

int Follow(const v1::JobStatus& job, bool all, logs::LogPrinter& output) {
  const auto skip = [all](logs::LogReader& logs) {
    if (!all) logs.SkipToLastLinesOfEach(kLastLines);
  };
  const auto ended = control::FollowJob(job, skip, output);
  if (!ended.ok()) return Fail(ended.status(), kExitCannotLaunch);
  if (ended->phase() != v1::JOB_PHASE_ENDED) return FailCrashed(*ended);
  if (ended->report().empty()) {
    base::Log(base::LogLevel::kInfo, "job " + job.job_id() + " has ended with exit code " +
                                         std::to_string(ended->exit_code()));
  } else {
    base::Log(base::LogLevel::kError, ended->report());
  }
  return ended->exit_code();
}

int Attach(const AttachOptions& options) {
  if (options.interactive) chief::SignalWatcher::BlockResize();  // before there are other threads
  const auto job = NamedJob(options.job);
  if (!job.ok()) return Fail(job.status(), kExitUsage);
  if (options.interactive && !options.rank) {
    return Fail(Error(StatusCode::kInvalidArgument, "-i needs --rank R"), kExitUsage);
  }
  if (options.rank) {
    const Status right = CheckRanks({*options.rank}, *job);
    if (!right.ok()) return Fail(right, kExitUsage);
  }
  auto view = ViewOf(options.display, logs::ProcessesOf(*job));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  if (options.rank) view->show = display::ShownRanks::Of({*options.rank});
  if (options.interactive) view->at_terminal = options.rank;
  logs::LogPrinter output(*std::move(view));
  const bool runs = job->phase() != v1::JOB_PHASE_ENDED && !job->chief_gone();
  if (runs) LeaveOnSignals(*job);
  if (!options.interactive) return Follow(*job, options.all, output);
  if (!runs) {
    return Fail(Error(StatusCode::kFailedPrecondition,
                      "no terminal to attach to: job " + job->job_id() + " has ended"),
                kExitCannotLaunch);
  }
  const auto attach_session = AttachSession::Begin(*job, *options.rank);
  if (!attach_session.ok()) return Fail(attach_session.status(), kExitCannotLaunch);
  return Follow(*job, options.all, output);
}

}  // namespace

Command AddAttach(CLI::App& app) {
  auto options = std::make_shared<AttachOptions>();
  AddJob(app, options->job);
  CLI::Option* const rank =
      app.add_option("--rank", options->rank, "Show only this rank")->type_name("R");
  app.add_flag("--all", options->all,
               "Print all output from the beginning, not only the last lines");
  app.add_flag("-i", options->interactive,
               "With --rank: connect to the rank's terminal (run --stdin-rank)");
  AddDisplayOptions(app, options->display, "Options");
  app.get_option("--show")->excludes(rank);
  app.footer(R"(
Shows the last lines of each rank, then what the ranks write, until the job
ends. The exit code is the job's. Ctrl-C leaves; the job continues. Any number
of terminals can be attached, and a slow one does not slow the job.

With -i, your input goes to the rank, Ctrl-C included; Enter ~. leaves. One
terminal at a time can be attached to a rank.

Examples:
  autodist attach last
  autodist attach 3fa9c1
  autodist attach last --show 0,8-15
  autodist attach last --rank 0 -i
  autodist attach last --chief-on first --all)");
  return [options] { return Attach(*options); };
}

}  // namespace autodist::cli
