// autodist attach [JOB] [--rank R] [-i]
#include <signal.h>
#include <unistd.h>

#include <optional>

#include "base/exit_codes.h"
#include "chief/input/raw_terminal.h"
#include "chief/loop/signal_watcher.h"
#include "cli/attach_session.h"
#include "cli/commands.h"
#include "cli/display_options.h"
#include "cli/named_job.h"
#include "control/follow_job.h"
#include "logs/log_printer.h"

namespace autodist::cli {
namespace {

constexpr size_t kLastLines = 5;  // of what each rank wrote before

struct AttachOptions {
  std::string job;
  std::optional<uint32_t> rank;
  bool interactive = false;
  bool all = false;
  v1::Display display;
};

// Said by the signal handler itself, as the only thread may be waiting for a slow terminal.
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
    return Fail(Error(StatusCode::kInvalidArgument, "whose terminal? -i goes with --rank R"),
                kExitUsage);
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
                      "nobody can be at a terminal of job " + job->job_id() + ", which has ended"),
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
      app.add_option("--rank", options->rank, "Only this rank")->type_name("R");
  app.add_flag("--all", options->all, "Begin with all that was written, not with the last lines");
  app.add_flag("-i", options->interactive,
               "With --rank: be at the terminal that the rank has (run --stdin-rank)");
  AddDisplayOptions(app, options->display, "Options");
  app.get_option("--show")->excludes(rank);
  app.footer(R"(
Shows the last lines of each rank and then what the ranks write, until the job has ended; the exit
code is the job's. Ctrl-C leaves, and the job goes on. Any number of terminals can be attached, and
however slow they are, the job does not wait for them.

With -i, what is typed goes to the rank, Ctrl-C too; Enter ~. leaves. One at a time can be at a
rank's terminal.

Examples:
  autodist attach last
  autodist attach 3fa9c1
  autodist attach last --show 0,8-15
  autodist attach last --rank 0 -i
  autodist attach last --chief-on first --all    a job that was started on from outside)");
  return [options] { return Attach(*options); };
}

}  // namespace autodist::cli
