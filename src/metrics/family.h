// Metrics in Prometheus' model: families of samples that labels distinguish.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

// Collects samples into families. Not thread-safe.
class FamilySet {
 public:
  // Adds nothing if the value is unknown or a sample with these labels exists: duplicates from an
  // agent would invalidate the whole scrape. Drops empty labels and cuts long ones. `name` and
  // `help` are string literals.
  void Add(Type type, std::string_view name, std::string_view help, const Labels& labels,
           std::optional<double> value);
  void Gauge(std::string_view name, std::string_view help, const Labels& labels,
             std::optional<double> value) {
    Add(Type::kGauge, name, help, labels, value);
  }
  void Counter(std::string_view name, std::string_view help, const Labels& labels,
               std::optional<double> value) {
    Add(Type::kCounter, name, help, labels, value);
  }

  // In the order of their first samples.
  std::vector<Family> Take() { return std::move(families_); }

 private:
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

// Prometheus' text format 0.0.4, and OpenMetrics 1.0.
enum class Format { kText, kOpenMetrics };

// The format's media type.
std::string ContentType(Format format);
std::string AsText(const std::vector<Family>& families, Format format);

}  // namespace autodist::metrics
