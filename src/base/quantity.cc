#include "base/quantity.h"

#include <cstdio>

namespace autodist::base {

std::string Bytes(uint64_t number) {
  constexpr double kNextUnit = 999.5;  // is written as 1000
  constexpr double kTwoDigits = 9.95;  // is written as 10
  if (number < 1000) return Count(number, "byte");
  double value = static_cast<double>(number) / 1000;
  const char* unit = "kMGTPE";
  while (value >= kNextUnit) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %cB", value < kTwoDigits ? 1 : 0, value, *unit);
  return text;
}

}  // namespace autodist::base
