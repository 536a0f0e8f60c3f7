// Schedules the output of ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

#include "base/deadline.h"

namespace autodist::agent {

// A message costs the chief 0.1 ms, however short it is. So the output of a rank below
// kWorthAMessage is sent at most once in kBatchInterval, together for all ranks. Not thread-safe.
class SendTurns {
 public:
  static constexpr uint64_t kWorthAMessage = 8 * 1024;  // bytes
  static constexpr std::chrono::milliseconds kBatchInterval{100};

  // Starts a new attempt.
  void Begin() { batches_.clear(); }
  // Returns the turn of a new piece: after all others.
  uint64_t New() { return ++last_; }
  // Whether a piece of that turn may be sent, from a rank with `bytes` to send; otherwise
  // next_batch() is when it may. All output of a rank that waits then is sent together.
  bool MayGo(uint32_t rank, uint64_t turn, uint64_t bytes);

  // The time at which postponed pieces may be sent. Never: no postponed pieces.
  base::Deadline next_batch() const { return next_batch_; }
  // Whether that time has come; true only once.
  bool TakeNextBatch();

 private:
  struct Batch {
    uint64_t last_turn = 0;                           // the last turn in the batch
    base::Deadline next = base::Deadline::After({});  // the earliest time of the next short one
  };

  const base::Deadline::Clock::time_point began_ = base::Deadline::Clock::now();
  uint64_t last_ = 0;
  std::map<uint32_t, Batch> batches_;  // by rank
  base::Deadline next_batch_ = base::Deadline::Never();
};

}  // namespace autodist::agent
