// Tracks the progress of a program by its output.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "progress/pattern.h"
#include "progress/progress_update.h"
#include "progress/track.h"

namespace autodist::progress {

// Recognizes progress in a program's lines; the meaning of a line may depend on earlier lines. For
// one rank. Not thread-safe.
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
    std::optional<uint64_t> epoch = {};
    bool confirmed = false;
  };
  std::array<Candidate, 8> candidates_{};
  size_t next_candidate_ = 0;
};

// For one rank, from its start. Not thread-safe. Size is bounded and time is linear for any input.
class ProgressReader {
 public:
  ProgressReader() = default;
  // If a pattern is given, it replaces all built-in forms. `epochs`: the number of epochs that the
  // program's arguments give.
  explicit ProgressReader(std::optional<Pattern> pattern, std::optional<uint64_t> epochs = {})
      : lines_(std::move(pattern)), epochs_(epochs) {}

  // Reads a line of either stream, or one version of a redrawn bar. Returns the progress if the
  // line changed it, else nullopt. The caller sets time_ms.
  //
  // Steps and total are those of the whole training if known: with one bar per epoch, those of all
  // epochs. They never decrease unless the program starts again. Metrics are the latest values, and
  // may be NaN or infinite.
  std::optional<v1::Progress> Take(std::string_view line, Time now);

  // Whether the last line shows an evaluation or other work that is not a step.
  bool WasOtherWork() const { return other_work_; }

  // Reads a line that was written to AUTODIST_PROGRESS; if it has steps, it takes precedence over
  // other output.
  std::optional<v1::Progress> TakeProgressLine(std::string_view line, Time now);

 private:
  static constexpr size_t kNone = SIZE_MAX;

  std::optional<v1::Progress> Note(const ProgressUpdate& update, std::string_view line, Time now);
  bool NoteSteps(const ProgressUpdate& update, std::string_view line, Time now);
  size_t TrackOf(const ProgressUpdate& update, bool& is_new, Time now);
  size_t Find(const std::string& key, Subject subject, const ProgressUpdate& update);
  size_t Add(Track track);
  void Choose(size_t index, Time now);
  bool IsInnerOf(const Track& track, const Track& outer) const;
  void Lead(size_t index);
  void KeepMetrics(const ProgressUpdate& update);
  v1::Progress Answer() const;

  LineRecogniser lines_;
  const std::optional<uint64_t> epochs_;
  std::vector<Track> tracks_;
  size_t main_ = kNone;   // in tracks_: shows the progress of the job
  size_t outer_ = kNone;  // in tracks_: counts the epochs of main_
  size_t next_ = 0;       // in tracks_: replaced next if there are too many
  // The last track that was looked up, because most lines belong to the same bar.
  struct Seen {
    Source source;
    std::string label;
    std::string unit;
    std::optional<uint64_t> total;
    size_t index;  // kNone: no track
  };
  std::optional<Seen> seen_;
  StepRate rate_;
  std::optional<double> reported_rate_;
  std::optional<double> reported_eta_;
  std::optional<Source> source_;   // of the last update
  Source surest_ = Source::kWord;  // the best source of steps so far
  std::vector<std::pair<std::string, double>> metrics_;
  bool other_work_ = false;
};

}  // namespace autodist::progress
