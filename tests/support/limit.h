// How long a test waits for something that must happen.
#pragma once

#include <chrono>

namespace autodist::test {

inline constexpr std::chrono::seconds kLimit{60};

}  // namespace autodist::test
