#include "diagnosis/rate_text.h"

#include <cmath>
#include <cstdio>

namespace autodist::diagnosis {
namespace {

struct Scale {
  double divisor;
  std::string unit;
};

Scale ScaleOf(RateUnit unit, double rate) {
  const bool large = rate >= 1e12;
  return {large ? 1e12 : 1e9,
          std::string(large ? "T" : "G") + (unit == RateUnit::kBytes ? "B/s" : "FLOP/s")};
}

// Three digits: "649" of 6.49e14 at a divisor of 1e12.
std::string Amount(double rate, double divisor) {
  const double amount = rate / divisor;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", amount < 10 ? 2 : amount < 100 ? 1 : 0, amount);
  return text;
}

}  // namespace

std::string RateRange(RateUnit unit, double least, double most) {
  const Scale scale = ScaleOf(unit, most);
  const std::string from = Amount(least, scale.divisor);
  const std::string to = Amount(most, scale.divisor);
  return (from == to ? "" : from + " to ") + to + " " + scale.unit;
}

std::string RateOf(RateUnit unit, double rate, double usual) {
  const Scale scale = ScaleOf(unit, usual);
  return Amount(rate, scale.divisor) + " of " + Amount(usual, scale.divisor) + " " + scale.unit +
         " (" + std::to_string(std::lround(100 * rate / usual)) + " %)";
}

}  // namespace autodist::diagnosis
