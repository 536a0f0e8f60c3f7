#include "agent/output/send_turns.h"

#include <algorithm>

namespace autodist::agent {

bool SendTurns::MayGo(uint32_t rank, uint64_t turn, uint64_t bytes) {
  Batch& batch = batches_[rank];
  if (turn <= batch.last_turn) return true;
  if (!batch.next.Expired() && bytes < kWorthAMessage) {
    next_batch_ = std::min(next_batch_, batch.next);
    return false;
  }
  batch.last_turn = last_;
  // Batches have the same times for all ranks.
  const auto batches = (base::Deadline::Clock::now() - began_) / kBatchInterval;
  batch.next = base::Deadline::At(began_ + (batches + 1) * kBatchInterval);
  return true;
}

bool SendTurns::TakeNextBatch() {
  if (!next_batch_.Expired()) return false;
  next_batch_ = base::Deadline::Never();
  return true;
}

}  // namespace autodist::agent
