#include "control/terminal_session.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "autodist/v1/job.grpc.pb.h"
#include "control/job_socket.h"
#include "rpc/channel.h"

namespace autodist::control {
namespace {

// An autodist that was stopped, by Ctrl-Z say, does not answer.
constexpr std::chrono::seconds kTakenLimit{5};

}  // namespace

class TerminalSession::Call {
 public:
  explicit Call(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::JobService::NewStub(channel)), stream_(stub_->UseTerminal(&context_)) {}

  // Cancelled at the limit, which only the first answer has.
  bool ReadWithin(std::chrono::seconds limit) {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::jthread clock([&] {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, limit, [&] { return done; })) context_.TryCancel();
    });
    v1::TerminalTaken taken;
    const bool read = stream_->Read(&taken);
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
    return read;
  }
  bool Write(const v1::TerminalInput& input) { return stream_->Write(input); }
  Status AwaitEnd() {
    v1::TerminalTaken taken;
    while (stream_->Read(&taken)) {
    }
    return rpc::FromGrpc(stream_->Finish());
  }
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  const std::unique_ptr<v1::JobService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::TerminalInput, v1::TerminalTaken>> stream_;
};

TerminalSession::TerminalSession(std::unique_ptr<Call> call) : call_(std::move(call)) {}

TerminalSession::~TerminalSession() { Leave(); }

void TerminalSession::Leave() { call_->Cancel(); }

Result<std::unique_ptr<TerminalSession>> TerminalSession::Open(const std::string& job_id,
                                                               const v1::TerminalInput& first) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd socket, ConnectTo(job_id));
  AD_ASSIGN_OR_RETURN(const auto channel, rpc::ChannelOver(std::move(socket)));
  auto call = std::make_unique<Call>(channel);
  call->Write(first);
  if (!call->ReadWithin(kTakenLimit)) {
    const Status why = call->AwaitEnd();
    return why.ok() ? Error(StatusCode::kFailedPrecondition, "the rank has ended") : why;
  }
  return std::unique_ptr<TerminalSession>(new TerminalSession(std::move(call)));
}

bool TerminalSession::Type(const v1::TerminalInput& input) { return call_->Write(input); }

Status TerminalSession::AwaitEnd() { return call_->AwaitEnd(); }

}  // namespace autodist::control
