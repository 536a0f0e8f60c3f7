// Collects samples into families.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/family.h"

namespace autodist::metrics {

// Not thread-safe.
class FamilySet {
 public:
  // Adds nothing if the value is unknown or a sample with these labels exists: duplicates from an
  // agent would invalidate the whole scrape. Drops empty labels and cuts long ones. `name` and
  // `help` are string literals.
  void Gauge(std::string_view name, std::string_view help, const Labels& labels,
             std::optional<double> value) {
    Add(Type::kGauge, name, help, labels, value);
  }
  void Counter(std::string_view name, std::string_view help, const Labels& labels,
               std::optional<double> value) {
    Add(Type::kCounter, name, help, labels, value);
  }
  void Untyped(std::string_view name, std::string_view help, const Labels& labels,
               std::optional<double> value) {
    Add(Type::kUntyped, name, help, labels, value);
  }

  // In the order of their first samples.
  std::vector<Family> Take() { return std::move(families_); }

 private:
  void Add(Type type, std::string_view name, std::string_view help, const Labels& labels,
           std::optional<double> value);

  std::vector<Family> families_;
  std::map<std::string_view, size_t> index_;  // in families_
  std::vector<std::set<Labels>> labels_;      // of the samples, in the order of families_
};

// Returns `labels` with `more` appended.
Labels With(Labels labels, std::initializer_list<Label> more);

// Returns the value if `has` says that it is set.
template <typename Number>
std::optional<double> Known(bool has, Number value) {
  return has ? std::optional(static_cast<double>(value)) : std::nullopt;
}

// "running" for NODE_PHASE_RUNNING.
std::string Word(std::string_view enumerator, std::string_view prefix);

}  // namespace autodist::metrics
