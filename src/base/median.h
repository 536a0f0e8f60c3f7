// The median of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace autodist::base {

// Returns the larger one of two middle values; `values` must not be empty.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace autodist::base
