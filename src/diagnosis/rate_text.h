// Formats rates of work and of copies.
#pragma once

#include <string>

namespace autodist::diagnosis {

enum class RateUnit { kOperations, kBytes };  // per second

// "641 to 649 TFLOP/s"; "649 TFLOP/s" if both look the same.
std::string RateRange(RateUnit unit, double least, double most);

// "584 of 649 TFLOP/s (90 %)"
std::string RateOf(RateUnit unit, double rate, double usual);

}  // namespace autodist::diagnosis
