// Connects this terminal to the terminal of a rank of a job that another process controls.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"
#include "chief/input/terminal_input.h"
#include "control/terminal_session.h"

namespace autodist::cli {

// "job … continues; `autodist stop …` ends it".
std::string GoesOnText(const v1::JobStatus& job);

// Sends all input to the rank from Begin until the rank has exited; Enter ~. ends this process.
// The caller shows the output of the rank.
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

}  // namespace autodist::cli
