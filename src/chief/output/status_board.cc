#include "chief/output/status_board.h"

#include <google/protobuf/util/message_differencer.h>

#include <utility>

namespace autodist::chief {

void StatusBoard::Publish(v1::JobStatus status) {
  if (google::protobuf::util::MessageDifferencer::Equals(status, published_)) return;
  published_ = std::move(status);
  if (!tell_) return;
  {
    const std::lock_guard lock(pending_->mutex);
    const bool waits = pending_->status != nullptr;
    pending_->status = std::make_unique<v1::JobStatus>(published_);
    if (waits) return;
  }
  in_background_([pending = pending_, tell = tell_] {
    std::unique_ptr<v1::JobStatus> told;
    {
      const std::lock_guard lock(pending->mutex);
      told = std::move(pending->status);
    }
    tell(*told);
  });
}

}  // namespace autodist::chief
