// How long a test waits for what has to come.
#pragma once

#include <chrono>

namespace autodist::test {

inline constexpr std::chrono::seconds kLimit{60};

}  // namespace autodist::test
