// How far a program is, by what it writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "progress/line_recogniser.h"
#include "progress/pattern.h"
#include "progress/progress_update.h"
#include "progress/step_rate.h"
#include "progress/track.h"

namespace autodist::progress {

// Of one rank, from its start. For one thread. Of bounded size, and linear in what it is given,
// whatever that is.
class ProgressReader {
 public:
  ProgressReader() = default;
  // Lines are recognised by this pattern alone, where there is one. `epochs`: how many there will
  // be, as the program's arguments say.
  explicit ProgressReader(std::optional<Pattern> pattern, std::optional<uint64_t> epochs = {})
      : lines_(std::move(pattern)), epochs_(epochs) {}

  // A line of either stream, or a version of a bar that is drawn over and over. What is known of
  // the progress now where the line tells something new, else nullopt. Its time_ms is the caller's
  // to set.
  //
  // Steps and total are those of the whole training where that is known: of a bar for each epoch,
  // the steps of all epochs. They never fall, unless the program begins anew. Metrics are the last
  // ones, and may be no numbers or infinite, as the program says.
  std::optional<v1::Progress> Take(std::string_view line, Time now);

  // Whether the last line that was taken shows that an evaluation goes on, or something else that
  // is no step.
  bool WasOtherWork() const { return other_work_; }

  // A line that it has written to AUTODIST_PROGRESS; with steps in it, it counts more than what is
  // recognised elsewhere.
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
  size_t main_ = kNone;   // in tracks_: says how far the job is
  size_t outer_ = kNone;  // likewise: counts the epochs of main_
  size_t next_ = 0;       // in tracks_, to be replaced where there are too many
  // Whose track was looked for last, as most lines are of the same bar.
  struct Seen {
    Source source;
    std::string label;
    std::string unit;
    std::optional<uint64_t> total;
    size_t index;  // kNone: it has none
  };
  std::optional<Seen> seen_;
  StepRate rate_;
  std::optional<double> reported_rate_;
  std::optional<double> reported_eta_;
  std::optional<Source> source_;   // of what was last told
  Source surest_ = Source::kWord;  // of what has told steps
  std::vector<std::pair<std::string, double>> metrics_;
  bool other_work_ = false;
};

}  // namespace autodist::progress
