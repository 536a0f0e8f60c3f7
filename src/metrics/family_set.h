// Families while samples are added to them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/family.h"

namespace autodist::metrics {

// For one thread.
class FamilySet {
 public:
  // Adds nothing where the value is not known, or there is a sample with these labels already: two
  // of the same name that an agent has told would make a scrape worthless. Empty labels are left
  // out, long ones cut. `name` and `help` are string literals.
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

  // In the order in which their first samples were added.
  std::vector<Family> Take() { return std::move(families_); }

 private:
  void Add(Type type, std::string_view name, std::string_view help, const Labels& labels,
           std::optional<double> value);

  std::vector<Family> families_;
  std::map<std::string_view, size_t> index_;  // in families_
  std::vector<std::set<Labels>> labels_;      // that are there, likewise
};

// `labels` and these.
Labels With(Labels labels, std::initializer_list<Label> more);

// A value as it is told where `has` it.
template <typename Number>
std::optional<double> Known(bool has, Number value) {
  return has ? std::optional(static_cast<double>(value)) : std::nullopt;
}

// "running" of NODE_PHASE_RUNNING.
std::string Word(std::string_view enumerator, std::string_view prefix);

}  // namespace autodist::metrics
