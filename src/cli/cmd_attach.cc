// autodist attach [JOB] [--rank R] [-i]
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "base/exit_codes.h"
#include "base/log.h"
#include "base/typed_command.h"
#include "chief/input/terminal_input.h"
#include "chief/loop/signal_watcher.h"
#include "cli/commands.h"
#include "cli/named_job.h"
#include "cli/run_options.h"
#include "control/follow_job.h"
#include "control/terminal_session.h"
#include "logs/log_printer.h"

namespace autodist::cli {
namespace {

using base::Log;
using base::LogLevel;

v1::TerminalInput Sized(const v1::TerminalSize& size) {
  v1::TerminalInput input;
  input.set_rows(size.rows());
  input.set_columns(size.columns());
  return input;
}

// Connects this terminal to the terminal of a rank of a job that another process controls. Sends
// all input to the rank from Begin until the rank has exited; Enter ~. ends this process. The
// caller shows the output of the rank.
class AttachSession {
 public:
  // SIGWINCH must be blocked in all threads. kInvalidArgument: not in the foreground of a terminal.
  static Result<std::unique_ptr<AttachSession>> Begin(const v1::JobStatus& job, uint32_t rank);
  ~AttachSession();

 private:
  AttachSession(const v1::JobStatus& job, uint32_t rank,
                std::unique_ptr<control::TerminalSession> session)
      : job_(job), rank_(rank), session_(std::move(session)) {}
  size_t Typed(const std::string& bytes);
  void AwaitEnd();
  [[noreturn]] void Leave() const;

  const v1::JobStatus job_;
  const uint32_t rank_;
  const std::unique_ptr<control::TerminalSession> session_;
  chief::EscapeKeys escapes_;
  std::unique_ptr<chief::RawTerminal> raw_;
  std::unique_ptr<chief::StdinReader> reader_;
  std::thread end_;  // last member: uses the others
};

// "job … continues; `autodist stop …` ends it".
std::string GoesOnText(const v1::JobStatus& job) {
  return "job " + job.job_id() + " continues; " + base::TypedCommand("stop " + job.job_id()) +
         " ends it";
}

Result<std::unique_ptr<AttachSession>> AttachSession::Begin(const v1::JobStatus& job,
                                                            uint32_t rank) {
  if (!chief::RawTerminal::IsOurs()) {
    return Error(StatusCode::kInvalidArgument,
                 "attach -i must run in the foreground of a terminal");
  }
  v1::TerminalInput first = Sized(chief::RawTerminal::Size());
  first.set_rank(rank);
  first.set_pid(getpid());
  AD_ASSIGN_OR_RETURN(auto session, control::TerminalSession::Open(job.job_id(), first));
  std::unique_ptr<AttachSession> at(new AttachSession(job, rank, std::move(session)));
  Log(LogLevel::kInfo, "attached to the terminal of rank " + std::to_string(rank) +
                           "; Ctrl-C goes to the rank; Enter ~. detaches, and the job continues");
  AD_ASSIGN_OR_RETURN(at->raw_, chief::RawTerminal::Enter());
  chief::StdinReader::Events events;
  events.bytes = [self = at.get()](const std::string& bytes) { return self->Typed(bytes); };
  events.end = [self = at.get()] { self->Leave(); };
  events.resized = [self = at.get()](const v1::TerminalSize& size) {
    (void)self->session_->Type(Sized(size));
  };
  AD_ASSIGN_OR_RETURN(at->reader_, chief::StdinReader::Start(std::move(events)));
  at->end_ = std::thread(&AttachSession::AwaitEnd, at.get());
  return at;
}

AttachSession::~AttachSession() {
  session_->Leave();
  if (end_.joinable()) end_.join();
}

// Returns 0, as no acknowledgement follows: gRPC blocks if the rank does not keep up.
size_t AttachSession::Typed(const std::string& bytes) {
  chief::EscapeKeys::Typed typed = escapes_.Take(bytes);
  v1::TerminalInput input;
  input.set_data(std::move(typed.bytes));
  if (!input.data().empty()) (void)session_->Type(input);
  for (const chief::EscapeKeys::Key key : typed.keys) {
    if (key == chief::EscapeKeys::Key::kLeave) Leave();
    Log(LogLevel::kInfo, "escape sequences at the start of a line: ~. detaches, ~~ sends a ~");
  }
  return 0;
}

// Exits without destructors: other threads may be blocked on a slow terminal.
void AttachSession::Leave() const {
  chief::RawTerminal::Restore();
  const std::string text = "\nautodist: " + GoesOnText(job_) + "\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(0);
}

void AttachSession::AwaitEnd() {
  const Status ended = session_->AwaitEnd();
  chief::RawTerminal::Restore();
  if (!ended.ok()) return;  // the job has ended, or this process has detached
  Log(LogLevel::kInfo, "rank " + std::to_string(rank_) +
                           " has exited; showing its output until the job ends; Ctrl-C leaves");
}

constexpr size_t kLastLines = 5;  // of earlier output, per rank

struct AttachOptions {
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
  if (!ended.ok()) return Fail(Annotate(ended.status(), "job " + job.job_id()), kExitCannotLaunch);
  if (ended->phase() != v1::JOB_PHASE_ENDED) return FailUnreachable(*ended);
  if (ended->report().empty()) {
    base::Log(base::LogLevel::kInfo, "job " + job.job_id() + " has ended with exit code " +
                                         std::to_string(ended->exit_code()));
  } else {
    base::Log(base::LogLevel::kError, ended->report());
  }
  return ended->exit_code();
}

int Attach(const AttachOptions& options, const v1::JobStatus& job) {
  if (options.interactive && !options.rank) {
    return Fail(Error(StatusCode::kInvalidArgument, "-i needs --rank R"), kExitUsage);
  }
  if (options.rank) {
    const Status right = CheckRanks({*options.rank}, job);
    if (!right.ok()) return Fail(right, kExitUsage);
  }
  auto view = ViewOf(options.display, logs::ProcessesOf(job));
  if (!view.ok()) return Fail(view.status(), kExitUsage);
  if (options.rank) view->show = display::ShownRanks::Of({*options.rank});
  if (options.interactive) view->at_terminal = options.rank;
  logs::LogPrinter output(*std::move(view));
  const bool runs = job.phase() != v1::JOB_PHASE_ENDED && !job.chief_gone();
  if (runs) LeaveOnSignals(job);
  if (!options.interactive) return Follow(job, options.all, output);
  if (!runs) {
    return Fail(Error(StatusCode::kFailedPrecondition,
                      "no terminal to attach to: job " + job.job_id() + " has ended"),
                kExitCannotLaunch);
  }
  const auto attach_session = AttachSession::Begin(job, *options.rank);
  if (!attach_session.ok()) {
    return Fail(Annotate(attach_session.status(), "job " + job.job_id()), kExitCannotLaunch);
  }
  return Follow(job, options.all, output);
}

}  // namespace

JobCommand AddAttach(CLI::App& app) {
  auto options = std::make_shared<AttachOptions>();
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
  return {[options](const v1::JobStatus& job) { return Attach(*options, job); },
          [options] {
            if (options->interactive) chief::SignalWatcher::BlockResize();
          }};
}

}  // namespace autodist::cli
