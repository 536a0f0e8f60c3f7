// Durations as in a JobRequest.
#pragma once

#include <chrono>

namespace autodist::test {

inline double InSeconds(std::chrono::duration<double> time) { return time.count(); }

}  // namespace autodist::test
