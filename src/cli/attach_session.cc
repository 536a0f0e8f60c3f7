#include "cli/attach_session.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"

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

}  // namespace

std::string GoesOnText(const v1::JobStatus& job) {
  return "job " + job.job_id() + " continues; `autodist stop " + job.job_id() + "` ends it";
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

}  // namespace autodist::cli
