// Shows the output of an attempt's ranks as lines and bars on a screen.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
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
#include "display/screen.h"
#include "display/shown_ranks.h"

namespace autodist::display {

// The user's options.
struct View {
  ShownRanks show{};
  PrefixStyle prefix = PrefixStyle::kNode;
  Colour colour = Colour::kAuto;
  bool each_bar = false;      // also bars that look alike
  bool plain_stdout = false;  // no prefix for stdout of ranks
  bool only_stderr = false;   // shows only stderr of ranks, on our stdout
  bool time_stamps = false;   // before the prefix
  bool json = false;          // lines as JSON, all on stdout; bars are shown when they end
  // Shows only this rank: its exact bytes, or lines if our output is a terminal.
  std::optional<uint32_t> raw{};
  // Our terminal is this rank's terminal, and receives its output unchanged.
  std::optional<uint32_t> at_terminal{};
};

// Bytes that a rank wrote; need not be whole lines.
struct Output {
  uint32_t rank;
  Stream stream;
  std::string_view bytes;
  std::optional<base::WallTime> time{};  // when they arrived, if known
  std::optional<uint64_t> offset{};      // in the log file, if earlier output was skipped
};

// Not thread-safe.
class RankLines {
 public:
  // Called for every line, shown or not.
  using OnLine = std::function<void(uint32_t rank, Stream stream, std::string_view text)>;

  // Called from Update for a bar that has changed, at most ten times a second. `half`: an
  // incomplete line that has paused.
  using OnBar = std::function<void(uint32_t rank, Stream stream, std::string_view text, bool half)>;

  // `folder` has the log files, from which lines are shown that are too long to keep.
  RankLines(std::vector<Process> processes, View view, std::string folder, OnLine on_line = {},
            OnBar on_bar = {});

  // `in_file`: the log file has it, too. Keeps what is not yet a line or bar.
  void Take(const Output& output, bool in_file, Time now, Screen& screen);
  // The streams have ended: incomplete lines are shown.
  void EndLines(Screen& screen);
  // The same for one stream.
  void EndLinesOf(uint32_t rank, Stream stream, Screen& screen);
  bool IsShown(uint32_t rank, Stream stream) { return IsShown(RankOf(rank), stream); }

  // Shows this rank's stderr from now on and, if it was hidden, the end of the earlier output,
  // because the rank has failed.
  void ShowErrorsOf(uint32_t rank, Screen& screen);

  // Bars that have not changed for a while become lines.
  void Settle(Time now, Screen& screen);
  // The same, and shows other bars when they are due.
  void Update(Time now, Screen& screen);
  // Does not show the next `lines` lines.
  void SkipLines(size_t lines) { to_skip_ = lines; }
  // The latest time for the next call of Update.
  std::optional<Time> Due(const Screen& screen) const;

 private:
  using Source = std::pair<uint32_t, Stream>;
  struct Rank {
    Process process;
    bool shown = true;
    bool errors_shown = true;
    std::array<LineReader, 2> readers;
    std::array<Time, 2> reported{};  // when a bar was last shown without a terminal
    std::array<std::optional<base::WallTime>, 2> written{};  // time of the last output
    std::array<bool, 2> changed{};
    std::array<bool, 2> unread{};  // on_bar has not received the latest state
    std::array<bool, 2> half{};    // whether it is in half_lines_
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
  void ReportBars(Time now, Screen& screen);
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
  std::set<Source> half_lines_;                                 // those that may become bars
  std::map<std::string, uint32_t, std::less<>> first_of_kind_;  // of bars: the lowest rank
  Time changed_{};                                              // the last change of any bar
  Time updated_{};
  size_t to_skip_ = 0;
};

// The log file of a rank's stream: FOLDER/rank-N.out or rank-N.err.
std::string LogName(uint32_t rank, Stream stream);
std::string LogPath(const std::string& folder, uint32_t rank, Stream stream);

// Passes the content from `from` on in pieces, until `take` returns false. Blocks on the disk.
void ReadPieces(const std::string& path, uint64_t from,
                const std::function<bool(std::string_view piece)>& take);

struct FileEnd {
  uint64_t begin = 0;  // offset of the text
  std::string text;
};
// Reads at most the last `most` bytes; nullopt: the file cannot be read.
std::optional<FileEnd> ReadEnd(const std::string& path, size_t most);

}  // namespace autodist::display
