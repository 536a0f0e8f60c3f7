// Durations as a JobRequest has them.
#pragma once

#include <chrono>

namespace autodist::test {

inline double InSeconds(std::chrono::duration<double> time) { return time.count(); }

}  // namespace autodist::test
