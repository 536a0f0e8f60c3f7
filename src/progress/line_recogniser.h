// Recognizes progress in a program's lines; the meaning of a line may depend on earlier lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "progress/pattern.h"
#include "progress/progress_update.h"

namespace autodist::progress {

// For one rank. Not thread-safe.
class LineRecogniser {
 public:
  // If a pattern is given, it replaces all built-in forms.
  explicit LineRecogniser(std::optional<Pattern> pattern = {}) : pattern_(std::move(pattern)) {}

  // Returns whether the line reports training progress, and sets `update`, which must be empty.
  // Views point into `line`, or are valid until the next call.
  bool Recognise(std::string_view line, ProgressUpdate& update);
  // The same for a line that was written to AUTODIST_PROGRESS.
  bool RecogniseFileLine(std::string_view line, ProgressUpdate& update);

 private:
  bool ReadLine(std::string_view line, ProgressUpdate& update);
  bool IsOfTraining(ProgressUpdate& update);
  bool IsConfirmed(const ProgressUpdate& update);

  const std::optional<Pattern> pattern_;
  std::string buffer_;
  // The epoch that Keras has printed.
  struct KerasEpoch {
    uint64_t epoch;
    uint64_t epochs;
    std::optional<uint64_t> total;  // steps
    bool finished = false;
  };
  std::optional<KerasEpoch> keras_;
  // Lines that may count steps: by kind, with the last count.
  struct Candidate {
    size_t kind = 0;
    uint64_t step = 0;
    bool confirmed = false;
  };
  std::array<Candidate, 8> candidates_{};
  size_t next_candidate_ = 0;
};

}  // namespace autodist::progress
