// Metrics as Prometheus has them: families of samples, told apart by their labels.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace autodist::metrics {

struct Label {
  std::string name;
  std::string value;  // UTF-8
  // clang-tidy takes the 0 with which its result is compared for a pointer.
  auto operator<=>(const Label&) const = default;  // NOLINT(modernize-use-nullptr)
};
using Labels = std::vector<Label>;

struct Sample {
  Labels labels;  // no two samples of a family have the same
  double value = 0;
};

enum class Type { kGauge, kCounter, kUntyped };

struct Family {
  std::string name;  // of a counter it ends with "_total"
  std::string help;  // one line
  Type type = Type::kGauge;
  std::vector<Sample> samples;
};

}  // namespace autodist::metrics
