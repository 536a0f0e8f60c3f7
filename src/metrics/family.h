// Metrics in Prometheus' model: families of samples that labels distinguish.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace autodist::metrics {

struct Label {
  std::string name;
  std::string value;  // UTF-8
  // clang-tidy mistakes the 0 that the result is compared with for a pointer.
  auto operator<=>(const Label&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Labels = std::vector<Label>;

struct Sample {
  Labels labels;  // unique within a family
  double value = 0;
};

enum class Type { kGauge, kCounter, kUntyped };

struct Family {
  std::string name;  // a counter's ends with "_total"
  std::string help;  // one line
  Type type = Type::kGauge;
  std::vector<Sample> samples;
};

}  // namespace autodist::metrics
