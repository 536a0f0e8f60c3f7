// A session at the terminal of a rank of a job that runs elsewhere.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/job.grpc.pb.h"
#include "rpc/channel.h"

namespace autodist::control {

// Thread-safe, except that only one thread may call Type.
class TerminalSession {
 public:
  // `first` has the rank, our pid and the size of our terminal. Blocks for a few seconds at most.
  // kNotFound: no autodist answers for the job; kDeadlineExceeded: it is silent;
  // kFailedPrecondition: the reason why the terminal is not available.
  static Result<std::unique_ptr<TerminalSession>> Open(const std::string& job_id,
                                                       const v1::TerminalInput& first);
  ~TerminalSession() { Leave(); }

  // Blocks until there is room for it. False: the session has ended.
  bool Type(const v1::TerminalInput& input) { return stream_->Write(input); }
  // Ends the session.
  void Leave() { context_.TryCancel(); }
  // Blocks until the session has ended. OK: the rank has ended.
  Status AwaitEnd();

 private:
  explicit TerminalSession(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::JobService::NewStub(channel)), stream_(stub_->UseTerminal(&context_)) {}
  std::optional<bool> ReadWithin(std::chrono::seconds limit);

  grpc::ClientContext context_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::TerminalInput, v1::TerminalTaken>> stream_;
};

}  // namespace autodist::control
