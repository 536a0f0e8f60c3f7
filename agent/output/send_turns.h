// Whose output is sent next, and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "base/deadline.h"

namespace autodist::agent {

// A message costs the chief a tenth of a millisecond, however short it is. So what a rank writes,
// while it is shorter than kWorthAMessage, comes every kBatchInterval at most, that of all ranks
// together. Not thread-safe.
class SendTurns {
 public:
  static constexpr uint64_t kWorthAMessage = 8 * 1024;  // bytes
  static constexpr std::chrono::milliseconds kBatchInterval{100};

  // A new attempt.
  void Begin() { batches_.clear(); }
  // The turn of a piece that begins to wait now: after all others.
  uint64_t New() { return ++last_; }
  // Whether a piece of that turn may go, of a rank with so many bytes to send; else next_batch()
  // comes when it may. What a rank has waiting by then goes together.
  bool MayGo(uint32_t rank, uint64_t turn, uint64_t bytes);

  // When a piece may go that might not. Never: there is none.
  base::Deadline next_batch() const { return next_batch_; }
  // Whether that time has come, once.
  bool TakeNextBatch();

 private:
  struct Batch {
    uint64_t last_turn = 0;                           // that belongs to it
    base::Deadline next = base::Deadline::After({});  // before it, no short one is sent
  };

  const base::Deadline::Clock::time_point began_ = base::Deadline::Clock::now();
  uint64_t last_ = 0;
  std::map<uint32_t, Batch> batches_;  // by rank
  base::Deadline next_batch_ = base::Deadline::Never();
};

}  // namespace autodist::agent
