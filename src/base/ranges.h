// Summaries of lists of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::base {

// Formats 0, 1, 2, 3 and 7 as "0-3,7", with "," between; `numbers` ascend.
template <typename Numbers>
std::string RangesText(const Numbers& numbers, std::string_view between) {
  std::string text;
  for (auto first = numbers.begin(); first != numbers.end();) {
    auto last = first;
    auto next = first + 1;
    for (; next != numbers.end() && *next == *last + 1; ++next) last = next;
    if (!text.empty()) text += between;
    text += std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = next;
  }
  return text;
}

// Returns the larger one of two middle values; `values` must not be empty.
inline double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace autodist::base
