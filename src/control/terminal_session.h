// Being at the terminal of a rank of a job that runs elsewhere.
#pragma once

#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::control {

// Thread-safe, but for one call of Type at a time.
class TerminalSession {
 public:
  // `first` has the rank, our pid and the size of our terminal. Blocks for a few seconds at most.
  // kNotFound: no autodist answers for the job; kFailedPrecondition: why we cannot be there.
  static Result<std::unique_ptr<TerminalSession>> Open(const std::string& job_id,
                                                       const v1::TerminalInput& first);
  ~TerminalSession();

  // Blocks until there is room for it. False: the session has ended.
  bool Type(const v1::TerminalInput& input);
  // Ends the session.
  void Leave();
  // Blocks until the session has ended. OK: as the rank has.
  Status AwaitEnd();

 private:
  class Call;
  explicit TerminalSession(std::unique_ptr<Call> call);

  std::unique_ptr<Call> call_;
};

}  // namespace autodist::control
