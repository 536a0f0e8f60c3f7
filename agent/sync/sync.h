// Receives the chief's folder on a node: the agent's side of the streaming call AgentService.Sync.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"

namespace autodist::agent {

// One call of Sync with a blocking interface: a thread of ours reads and writes.
class SyncCall final : public grpc::ServerBidiReactor<v1::SyncRequest, v1::SyncResponse> {
 public:
  // `silence`: how long the chief may neither send nor accept anything.
  SyncCall(grpc::CallbackServerContext& context, std::chrono::milliseconds silence)
      : context_(context), silence_(silence) {}

  // Blocks until there is a message, which may be an empty one. Fails at the end.
  Result<v1::SyncRequest> Read();
  // Blocks until gRPC has accepted the message.
  Status Write(const v1::SyncResponse& message);
  // Thread-safe.
  bool Cancelled();

  // Call once, at the end; the call may be destroyed when it returns.
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
  v1::SyncRequest incoming_;  // used by gRPC while reading_
  v1::SyncResponse outgoing_;
  bool reading_ = false;
  bool has_incoming_ = false;
  bool writing_ = false;
  bool ended_ = false;  // no more messages can be received or sent
};

// A chief that is silent for longer is lost: it sends a message at least every kBusyInterval (see
// sync.cc), but slow links need time for a message.
inline constexpr std::chrono::seconds kChiefSilence{60};

// Receives the chief's files until the folder matches. Blocks; reports local failures to the chief,
// so the result only says whether that was possible.
Status ReceiveFolder(SyncCall& call);

}  // namespace autodist::agent
