// The progress that one line shows, without context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace autodist::progress {

// Kinds of lines; later ones are more reliable and take precedence. kWord: a line of an unknown
// program that contains a step or similar.
enum class Source { kWord, kBar, kLogLine, kFile, kPattern };

// Only the beginning of a line is searched.
inline constexpr size_t kLookedAt = 2 << 10;  // bytes
// Limit per line and per program.
inline constexpr size_t kMaxMetrics = 32;
// Larger numbers are not step counts.
inline constexpr double kLargestCount = 1e15;

struct ProgressUpdate {
  struct Metric {
    std::string_view name;
    double value;  // may be NaN or infinite
  };

  Source source = Source::kBar;
  std::string_view label;  // of a bar: the text before it
  std::string_view unit;   // of a bar: "it"
  std::optional<uint64_t> step;
  std::optional<uint64_t> total;
  std::optional<uint64_t> epoch;
  std::optional<uint64_t> epochs;
  bool last_epoch = false;  // epochs count from 0, so `epochs` is the number of the last one
  bool in_epoch = false;    // steps restart at each epoch
  bool may_go_on = false;   // …or continue over epochs: one line does not show which
  bool other_work = false;  // such as an evaluation: the line reports no steps
  // Not 0: the line only resembles a step count, and counts once another line of this kind has a
  // higher count.
  size_t kind = 0;
  std::optional<double> rate;  // steps per second
  std::optional<double> eta;   // seconds
  std::vector<Metric> metrics;

  // "step", "total", "epoch" or "epochs"; null: no such count.
  std::optional<uint64_t>* CountOf(std::string_view name) {
    if (name == "step") return &step;
    if (name == "total") return &total;
    if (name == "epoch") return &epoch;
    return name == "epochs" ? &epochs : nullptr;
  }
};

}  // namespace autodist::progress
