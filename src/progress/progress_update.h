// What one line says of a program's progress, taken by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace autodist::progress {

// How it was told; later ones are surer, and count more. kWord: by a line of no known program that
// has a step, or the like, in it.
enum class Source { kWord, kBar, kLogLine, kFile, kPattern };

// Of a line, no more is looked at.
inline constexpr size_t kLookedAt = 2 << 10;  // bytes
// More of one line, or of one program, are not kept.
inline constexpr size_t kMaxMetrics = 32;
// A larger number is no number of steps.
inline constexpr double kLargestCount = 1e15;

struct ProgressUpdate {
  struct Metric {
    std::string_view name;
    double value;  // may be no number, or infinite, where the program says so
  };

  Source source = Source::kBar;
  std::string_view label;  // of a bar: what stands before it
  std::string_view unit;   // of a bar: "it"
  std::optional<uint64_t> step;
  std::optional<uint64_t> total;
  std::optional<uint64_t> epoch;
  std::optional<uint64_t> epochs;
  bool last_epoch = false;  // `epochs` is the number of the last one, and the first one's is 0
  bool in_epoch = false;    // steps are counted anew in each epoch
  bool may_go_on = false;   // or are not, as far as one line tells
  bool other_work = false;  // of an evaluation, say: the line tells no steps
  // Not 0: the line may only look like one of steps, until another one of this kind has a higher
  // count.
  size_t kind = 0;
  std::optional<double> rate;  // steps per second
  std::optional<double> eta;   // seconds
  std::vector<Metric> metrics;

  // "step", "total", "epoch" or "epochs"; null: no count has this name.
  std::optional<uint64_t>* CountOf(std::string_view name) {
    if (name == "step") return &step;
    if (name == "total") return &total;
    if (name == "epoch") return &epoch;
    return name == "epochs" ? &epochs : nullptr;
  }
};

}  // namespace autodist::progress
