// This process's stdout and stderr: lines and, on a terminal, bars below them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "display/line_reader.h"

namespace autodist::display {

// Removes all terminal control sequences except colors (SGR of ECMA-48).
std::string Harmless(std::string_view text);

// Also cuts the text at `columns` columns.
std::string Cut(std::string_view text, size_t columns);

// The part of a bar without its progress: "train:" of "train:  12%|█▏ | 12/100". Bars of the same
// kind have the same label.
std::string BarLabel(std::string_view bar);

enum Stream : size_t { kStdout = 0, kStderr = 1 };

enum class Colour { kAuto, kAlways, kNever };

// The capabilities of a stream.
struct Style {
  bool terminal = false;
  bool coloured = false;
};

// kAuto: colors if the terminal supports them, unless NO_COLOR is set (no-color.org).
Style StyleOf(Stream stream, Colour colour);

// Ends this process as by SIGPIPE, which is ignored because nodes may close connections.
[[noreturn]] void EndAsBySigpipe();

// Not thread-safe; blocks while the reader accepts nothing.
class Screen {
 public:
  Screen();

  // Appends whole lines; on a terminal with bars, they are written in the next frame. Keeps the
  // order across streams, because both may have the same destination.
  void Append(Stream stream, std::string_view text);
  // Sets the bottom rows of the next frame, each cut to the width. Does nothing without a terminal.
  void SetBars(std::vector<std::string> rows);
  bool has_terminal() const { return live_; }
  // The number of rows for bars at the terminal's current size.
  size_t Room() const;

  // Writes what is due: bars, and any lines, at most ten times a second.
  void Update(Time now);
  // The latest time for the next call of Update, unless there is new output.
  std::optional<Time> Due() const;

  // Writes all lines, and removes the bars until the next frame, so that other output is placed
  // correctly.
  void Clear();

  // From now on, a write ends this process as by SIGPIPE if the reader has gone, as in `| head`.
  void EndWithReader() { ends_with_reader_ = true; }

  // Streams that can no longer be written to, so that lines are only in the log files; not those
  // that the reader closed.
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
  std::string room_;  // buffer for the next pending text
  std::array<bool, 2> closed_{};
  bool ends_with_reader_ = false;
  std::array<bool, 2> terminal_{};
  bool live_ = false;              // bars can be drawn
  Stream where_ = kStderr;         // the stream to which they are drawn
  std::vector<std::string> bars_;  // of the next frame
  size_t drawn_ = 0;               // rows on the terminal
  bool changed_ = false;           // the next frame differs from the terminal
  Time next_frame_{};
  std::vector<std::string> warnings_;
};

}  // namespace autodist::display
