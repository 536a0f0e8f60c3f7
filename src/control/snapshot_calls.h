// Answers clients that view a running job.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "autodist/v1/snapshot.grpc.pb.h"
#include "base/worker.h"
#include "control/job_requests.h"

namespace autodist::control {

// Serializes each snapshot once, on its own thread. Thread-safe; does not block.
class SnapshotWriter {
 public:
  void Write(std::shared_ptr<const v1::JobSnapshot> snapshot,
             std::function<void(const grpc::ByteBuffer& bytes)> written);

 private:
  std::weak_ptr<const v1::JobSnapshot> last_;  // used by the thread only, as the next
  grpc::ByteBuffer bytes_;                     // last_, serialized
  base::Worker thread_;                        // last: uses the rest
};

// Thread-safe.
class SnapshotCalls final
    : public v1::SnapshotService::WithRawCallbackMethod_GetSnapshot<
          v1::SnapshotService::WithCallbackMethod_GetHistory<v1::SnapshotService::Service>> {
 public:
  explicit SnapshotCalls(JobRequests::SnapshotHandlers handlers) : handlers_(std::move(handlers)) {}

  // Makes no requests after this returns.
  void End();

  grpc::ServerUnaryReactor* GetSnapshot(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetHistory(grpc::CallbackServerContext*,
                                       const v1::GetHistoryRequest* request,
                                       v1::History* response) override;

 private:
  const JobRequests::SnapshotHandlers handlers_;
  const std::shared_ptr<SnapshotWriter> writer_ = std::make_shared<SnapshotWriter>();
  std::mutex mutex_;  // held while a request is made
  bool ended_ = false;
};

}  // namespace autodist::control
