// What the ranks of an attempt write, as lines and bars on a screen.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/wall_clock.h"
#include "display/line_reader.h"
#include "display/prefixes.h"
#include "display/screen.h"
#include "display/shown_ranks.h"

namespace autodist::display {

// What a person has asked for.
struct View {
  ShownRanks show{};
  PrefixStyle prefix = PrefixStyle::kNode;
  Colour colour = Colour::kAuto;
  bool each_bar = false;      // also those that look alike
  bool plain_stdout = false;  // what ranks write to stdout has no prefix
  bool only_stderr = false;   // and that to our stdout
  bool time_stamps = false;   // before the prefix
  bool json = false;          // lines as JSON, all to stdout; bars are shown once they have ended
  // Of this rank alone: the very bytes, but to a terminal of ours lines as of the others.
  std::optional<uint32_t> raw{};
  // Our terminal is that of this rank, and obeys all that it writes.
  std::optional<uint32_t> at_terminal{};
};

// Some bytes that a rank wrote, whatever they are.
struct Output {
  uint32_t rank;
  Stream stream;
  std::string_view bytes;
  std::optional<base::WallTime> time{};  // when they came; not always known
  std::optional<uint64_t> offset{};      // in the log file, where some of it was passed over
};

// For one thread.
class RankLines {
 public:
  // Every line, shown or not.
  using OnLine = std::function<void(uint32_t rank, Stream stream, std::string_view text)>;

  // A bar that has changed, ten times a second at most; from Update. `half`: a line that has begun
  // and goes no further.
  using OnBar = std::function<void(uint32_t rank, Stream stream, std::string_view text, bool half)>;

  // `folder`: of the log files, from which lines are shown that are too long to keep.
  RankLines(std::vector<Process> processes, View view, std::string folder, OnLine on_line = {},
            OnBar on_bar = {});

  // `in_file`: the log file has it, too. What is not yet a line or a bar to show is kept.
  void Take(const Output& output, bool in_file, Time now, Screen& screen);
  // Nothing follows: lines that have not ended end.
  void EndLines(Screen& screen);
  // The same of one stream.
  void EndLinesOf(uint32_t rank, Stream stream, Screen& screen);
  bool IsShown(uint32_t rank, Stream stream) { return IsShown(RankOf(rank), stream); }

  // From now on what the rank writes to stderr is shown, and the last of what it has written, if it
  // was not: it has failed.
  void ShowErrorsOf(uint32_t rank, Screen& screen);

  // Bars that have not changed for a while are lines.
  void Settle(Time now, Screen& screen);
  // The same, and shows the others where it is time to.
  void Update(Time now, Screen& screen);
  // So many lines that would be shown are not.
  void SkipLines(size_t lines) { to_skip_ = lines; }
  // When to call Update at the latest.
  std::optional<Time> Due(const Screen& screen) const;

 private:
  using Source = std::pair<uint32_t, Stream>;
  struct Rank {
    Process process;
    bool shown = true;
    bool errors_shown = true;
    std::array<LineReader, 2> readers;
    std::array<Time, 2> reported{};  // when a bar was last shown without a terminal
    std::array<std::optional<base::WallTime>, 2> written{};  // when something last came
    std::array<bool, 2> changed{};
    std::array<bool, 2> unread{};  // on_bar has not had what was drawn last
    std::array<bool, 2> half{};    // it is in half_lines_
  };

  Rank& RankOf(uint32_t number);
  bool IsShown(const Rank& rank, Stream stream) const;
  bool IsRaw(const Rank& rank, Stream stream) const;
  bool ShowsLinesOf(const Rank& rank, Stream stream) const {
    return IsShown(rank, stream) && !IsRaw(rank, stream);
  }
  bool IsFirstOfItsKind(uint32_t rank, std::string_view bar);
  void EndLine(const Rank& rank, Stream stream, const Line& line, Screen& screen);
  void Show(const Rank& rank, Stream stream, const Line& line, Screen& screen);
  void AppendText(Stream target, std::string_view text, Screen& screen) const;
  std::vector<std::string> BarRows(size_t room);
  void TellBars(Time now, Screen& screen);
  void NoteHalfLine(Source source, Rank& rank);
  void HoldHalfLines(Time now);
  std::optional<Time> BarsDue(const Screen& screen) const;
  Stream Target(Stream stream) const { return view_.only_stderr ? kStdout : stream; }

  const View view_;
  const std::string folder_;
  const OnLine on_line_;
  const OnBar on_bar_;
  const std::array<Style, 2> looks_;
  Prefixes prefixes_;
  std::map<uint32_t, Rank> ranks_;
  std::set<Source> with_bars_;
  std::set<Source> half_lines_;                                 // that may become bars
  std::map<std::string, uint32_t, std::less<>> first_of_kind_;  // of bars: the lowest rank
  Time changed_{};                                              // a bar, last
  Time updated_{};
  size_t to_skip_ = 0;
};

}  // namespace autodist::display
