// Estimates the offset of a node's clock from the chief's by the answers to renewals; either clock
// may be set meanwhile. Pure logic.
#pragma once

#include <cstdint>

namespace autodist::chief {

class NodeClock {
 public:
  // Returns the number of the renewal that is sent at `now_ns`, by the chief's clock.
  uint64_t Ask(int64_t now_ns);
  // The answer to that renewal arrived at `now_ns`, with the node's time.
  void Answered(uint64_t number, int64_t there_ns, int64_t now_ns);
  uint64_t asked() const { return asked_; }  // the number of the last renewal
  // Returns whether the last renewal has been answered.
  bool answered() const { return answered_ >= asked_; }

  // Converts a time of the node to the chief's clock.
  int64_t ByOurs(int64_t time_ns) const;

 private:
  int64_t ahead_ns_ = 0;
  int64_t best_round_trip_ns_ = INT64_MAX;  // the error of the offset is at most half of it
  uint64_t asked_ = 0;                      // number of the last renewal
  uint64_t answered_ = 0;                   // number of the last answered one
  int64_t asked_at_ns_ = 0;
};

}  // namespace autodist::chief
