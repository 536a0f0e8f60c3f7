#include "chief/fleet/node_clock.h"

#include <algorithm>
#include <cstdlib>

namespace autodist::chief {

uint64_t NodeClock::Ask(int64_t now_ns) {
  asked_at_ns_ = now_ns;
  return ++asked_;
}

void NodeClock::Answered(uint64_t number, int64_t there_ns, int64_t now_ns) {
  answered_ = std::max(answered_, number);
  if (number != asked_) return;
  const int64_t round_trip = now_ns - asked_at_ns_;
  if (round_trip < 0) return;  // the chief's clock was set back
  const int64_t ahead = there_ns - (asked_at_ns_ + round_trip / 2);
  // Larger than the measurement error: one of the clocks was set.
  const bool was_set = std::abs(ahead - ahead_ns_) / 2 > best_round_trip_ns_ / 4 + round_trip / 4;
  if (round_trip > best_round_trip_ns_ && !was_set) return;
  best_round_trip_ns_ = round_trip;
  ahead_ns_ = ahead;
}

int64_t NodeClock::ByOurs(int64_t time_ns) const {
  // Clocks that agree within the error are treated as equal: that orders events better.
  const bool agree = std::abs(ahead_ns_) <= best_round_trip_ns_ / 2;
  return agree ? time_ns : time_ns - ahead_ns_;
}

}  // namespace autodist::chief
