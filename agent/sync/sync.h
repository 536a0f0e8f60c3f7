// Receives the chief's folder on a node: the agent's side of the streaming call AgentService.Sync.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// One call of Sync, made blocking: gRPC's threads hand over, a thread of ours reads and writes.
class SyncCall final : public grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse> {
 public:
  // `silence`: how long the chief may neither send nor take anything.
  SyncCall(grpc::CallbackServerContext& context, std::chrono::milliseconds silence)
      : context_(context), silence_(silence) {}

  // Blocks until there is a message, which may be an empty one. Fails when there will be none.
  Result<v1::SyncRequest> Read();
  // Blocks until the message is on its way.
  Status Write(const v1::SyncResponse& message);
  // Thread-safe.
  bool Cancelled();

  // Once, when all is done; the call may be gone as it returns.
  void End(const Status& status);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }
  Status GiveUp(bool in_time);  // mutex_ held

  grpc::CallbackServerContext& context_;
  const std::chrono::milliseconds silence_;
  std::mutex mutex_;
  std::condition_variable changed_;
  v1::SyncRequest incoming_;  // gRPC's while reading_
  v1::SyncResponse outgoing_;
  bool reading_ = false;
  bool has_incoming_ = false;
  bool writing_ = false;
  bool ended_ = false;  // no message will come any more, or nobody takes ours
};

// A chief that is silent for longer is gone: it speaks at least as often as kBusyInterval below,
// and a slow link needs its time for a message.
inline constexpr std::chrono::seconds kChiefSilence{60};

// Takes what the chief sends until the folder is like its own. Blocks; what fails on this node is
// told to the chief, so the result says only whether that was possible.
Status ReceiveFolder(SyncCall& call);

}  // namespace autodist::agent
