// By how much a node's clock differs from ours, from the answers to renewals; either may be set
// meanwhile. Pure logic.
#pragma once

#include <cstdint>

namespace autodist::chief {

class NodeClock {
 public:
  // The number of the renewal that is sent at `now_ns`, by our clock.
  uint64_t Ask(int64_t now_ns);
  // The answer to the renewal of this number has come at `now_ns`, with the time there.
  void Answered(uint64_t number, int64_t there_ns, int64_t now_ns);
  // Whether the last renewal has been answered.
  bool answered() const { return answered_ >= asked_; }

  // What a time of the node's is by our clock.
  int64_t ByOurs(int64_t time_ns) const;

 private:
  int64_t ahead_ns_ = 0;
  int64_t best_round_trip_ns_ = INT64_MAX;  // the offset is known to half of it
  uint64_t asked_ = 0;                      // the number of the last renewal
  uint64_t answered_ = 0;                   // and of the last that was answered
  int64_t asked_at_ns_ = 0;
};

}  // namespace autodist::chief
