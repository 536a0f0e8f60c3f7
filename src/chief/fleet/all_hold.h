// Checks a condition of all nodes after each of thousands of events.
#pragma once

#include <cstddef>

namespace autodist::chief {

// Begins with the node that failed the last check, because it usually still fails.
class AllHold {
 public:
  // `holds` is called with 0 to count - 1.
  template <typename Holds>
  bool operator()(size_t count, const Holds& holds) {
    for (size_t i = 0; i < count; ++i) {
      const size_t at = (first_ + i) % count;
      if (holds(at)) continue;
      first_ = at;
      return false;
    }
    return true;
  }

 private:
  size_t first_ = 0;
};

}  // namespace autodist::chief
