// What a program's lines say of its progress, where a line means more by those before it.
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

// Of one rank. Not thread-safe.
class LineRecogniser {
 public:
  // Lines are recognised by this pattern alone, where there is one.
  explicit LineRecogniser(std::optional<Pattern> pattern = {}) : pattern_(std::move(pattern)) {}

  // Whether the line tells something of a training, which `update`, an empty one, becomes. Views
  // are into `line`, or valid until the next call.
  bool Recognise(std::string_view line, ProgressUpdate& update);
  // The same of a line that was written to AUTODIST_PROGRESS.
  bool RecogniseFileLine(std::string_view line, ProgressUpdate& update);

 private:
  bool ReadLine(std::string_view line, ProgressUpdate& update);
  bool IsOfTraining(ProgressUpdate& update);
  bool IsConfirmed(const ProgressUpdate& update);

  const std::optional<Pattern> pattern_;
  std::string buffer_;
  // What Keras has written of its epoch.
  struct KerasEpoch {
    uint64_t epoch;
    uint64_t epochs;
    std::optional<uint64_t> total;  // steps
    bool finished = false;
  };
  std::optional<KerasEpoch> keras_;
  // Lines that may be of steps: by their kind, with the last count.
  struct Candidate {
    size_t kind = 0;
    uint64_t step = 0;
    bool confirmed = false;
  };
  std::array<Candidate, 8> candidates_{};
  size_t next_candidate_ = 0;
};

}  // namespace autodist::progress
