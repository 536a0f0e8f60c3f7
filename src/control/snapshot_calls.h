// Answers who looks at a job that runs.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "autodist/v1/snapshot.grpc.pb.h"
#include "base/worker.h"
#include "control/job_requests.h"

namespace autodist::control {

// Serializes snapshots on a thread of its own, and each of them once. Thread-safe; does not block.
class SnapshotWriter {
 public:
  void Write(std::shared_ptr<const v1::JobSnapshot> snapshot,
             std::function<void(const grpc::ByteBuffer& bytes)> written);

 private:
  std::weak_ptr<const v1::JobSnapshot> last_;  // of the thread, as the next
  grpc::ByteBuffer bytes_;                     // it, serialized
  base::Worker thread_;                        // last: uses the rest
};

// Thread-safe.
class SnapshotCalls final
    : public v1::SnapshotService::WithRawCallbackMethod_GetSnapshot<
          v1::SnapshotService::WithCallbackMethod_GetHistory<v1::SnapshotService::Service>> {
 public:
  explicit SnapshotCalls(JobRequests::SnapshotHandlers look) : look_(std::move(look)) {}

  // No request is made any more.
  void End();

  grpc::ServerUnaryReactor* GetSnapshot(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext*,
                                       const v1::GetHistoryRequest* request,
                                       v1::History* response) override;

 private:
  const JobRequests::SnapshotHandlers look_;
  const std::shared_ptr<SnapshotWriter> writer_ = std::make_shared<SnapshotWriter>();
  std::mutex mutex_;  // held while a request is made
  bool ended_ = false;
};

}  // namespace autodist::control
