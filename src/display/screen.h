// This process's stdout and stderr: lines, and on a terminal bars below them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "display/line_reader.h"

namespace autodist::display {

enum Stream : size_t { kStdout = 0, kStderr = 1 };

enum class Colour { kAuto, kAlways, kNever };

// How lines look on a stream.
struct Style {
  bool terminal = false;
  bool coloured = false;
};

// kAuto: where it is a terminal that can, unless NO_COLOR is set (no-color.org).
Style StyleOf(Stream stream, Colour colour);

// For one thread, which it may block for as long as nobody reads.
class Screen {
 public:
  Screen();

  // Whole lines; on a terminal with bars they are written together with these. What is appended
  // first is written first, as both streams may go to one place.
  void Append(Stream stream, std::string_view text);
  // What stands at the bottom from the next frame on, each row cut to the width. Without a
  // terminal, nothing does.
  void SetBars(std::vector<std::string> rows);
  bool has_terminal() const { return live_; }
  // How many rows may be bars, as large as the terminal is now.
  size_t Room() const;

  // Writes what is due: bars, and lines where there are any, ten times a second at most.
  void Update(Time now);
  // When to call Update at the latest, unless something comes before.
  std::optional<Time> Due() const;

  // Writes all lines, and takes the bars away until the next frame: what is written now by others
  // stands where it should.
  void Clear();

  // From now on this process ends as by SIGPIPE once nobody reads what it writes, as in `| head`.
  // SIGPIPE itself is ignored: what a node closes must not end us.
  void EndWithReader() { ends_with_reader_ = true; }

  // Of what takes nothing any more, so that lines are in the log files only; other than what its
  // reader has closed, who knows.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Text {
    Stream stream;
    std::string text;
  };

  void Flush(std::array<bool, 2> streams);
  void FlushAll() { Flush({true, true}); }
  void Write(Stream stream, std::string_view text);
  void Erase();
  void Draw();
  void WriteLive(std::string_view text);

  std::vector<Text> pending_;
  std::string room_;  // of what was pending, for what comes next
  std::array<bool, 2> closed_{};
  bool ends_with_reader_ = false;
  std::array<bool, 2> terminal_{};
  bool live_ = false;              // bars can be drawn
  Stream where_ = kStderr;         // they are drawn by it
  std::vector<std::string> bars_;  // as they should be
  size_t drawn_ = 0;               // rows on the terminal now
  bool changed_ = false;           // what is drawn is not what should be
  Time next_frame_{};
  std::vector<std::string> warnings_;
};

}  // namespace autodist::display
