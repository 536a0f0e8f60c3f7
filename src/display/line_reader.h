// What a rank writes to one of its streams, as lines, and as the bars that it draws over and over.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::display {

using Time = std::chrono::steady_clock::time_point;

// A line that will not change any more.
struct Line {
  std::string_view text;  // without its end; of a long one the beginning
  bool bar = false;       // it has been drawn more than once
  // Of one too long to keep: where it began in all that was taken or passed over.
  std::optional<uint64_t> long_from;
};

// Follows what a terminal would do with "\r", "\b" and the escape sequences by which programs go up
// to lines that they have written (ECMA-48: CUU, CUD, CHA, CNL, CPL, EL, ED); others stay as they
// are, and so does everything where there are NUL bytes. A line that is drawn again is held until
// something else is written below it. Not thread-safe.
class LineReader {
 public:
  using OnLine = std::function<void(const Line& line)>;

  // `keep_long`: a line of any length comes in pieces of 1 MiB; else as Line::long_from says.
  void Take(std::string_view bytes, bool keep_long, Time now, const OnLine& on_line);
  // Lines that a program writes for each step of an epoch, as Keras does where stdout is no
  // terminal, are a bar: "28/60 ━━━━━━─── 3s 99ms/step - loss: 2.3".
  void FoldSteps() { folds_ = true; }
  // What is taken next is there in all that was written: some was passed over.
  void SkipTo(uint64_t offset) { taken_ = offset; }
  // The bars that have ended by "\n" and have not been drawn again for a while are lines.
  void Settle(Time now, const OnLine& on_line);
  // So are, where something else has been written after them, all that have ended by "\n".
  void EndAbove(const OnLine& on_line);
  // Nothing follows: everything is a line.
  void End(const OnLine& on_line);

  // Whether there are lines that are held, as they may be drawn again.
  bool HasBars() const {
    return rows_.size() > 1 || rows_[0].kind == Kind::kBar || rows_[0].over || half_;
  }
  // Whether a line has begun that has not ended, and is no bar: a prompt, or dots.
  bool HasHalfLine() const;
  // From now on it is among the bars, until it ends as any line.
  void HoldHalfLine() { half_ = HasHalfLine(); }
  bool HoldsHalfLine() const { return half_ && rows_[0].kind == Kind::kPlain; }
  // When something was last taken.
  Time changed() const { return changed_; }
  // Those that show something, from top to bottom; until the next call.
  std::vector<std::string_view> Bars() const;

 private:
  enum class Kind { kFresh, kPlain, kBar, kErased };
  struct Row {
    std::string text;
    Kind kind = Kind::kFresh;
    bool folded = false;    // a line of a step, in place of that before
    bool over = false;      // what comes next replaces the text
    bool is_long = false;   // of which the text is the beginning
    uint32_t versions = 0;  // drawn since the cursor was above; 2: or more
    uint64_t begin = 0;     // in all that was taken
  };

  size_t TakeText(std::string_view bytes, size_t length, bool keep_long, const OnLine& on_line);
  void TakeControl(char control, const OnLine& on_line);
  void TakeEscape(char byte, bool keep_long, const OnLine& on_line);
  void Obey(char command, uint32_t count);
  void Add(std::string_view text, bool keep_long, const OnLine& on_line);
  void Overwrite(const OnLine& on_line);
  void EndRow(const OnLine& on_line);
  bool Fold(const OnLine& on_line);
  void Return();
  void BackSpace();
  void GoUp(size_t rows);
  void Commit(size_t rows, const OnLine& on_line);
  Row& row() { return rows_[cursor_]; }
  // Nothing is held or will be drawn again.
  bool IsAtBegin() const {
    return rows_.size() == 1 && rows_[0].kind == Kind::kFresh && !rows_[0].over && frame_ == 0;
  }

  std::vector<Row> rows_{1};  // the last lines; all but the last are bars, or below one
  size_t cursor_ = 0;         // in rows_
  size_t frame_ = 0;          // lines to come that will be drawn again, though they look plain
  bool climbs_ = false;       // the cursor has gone up in these rows
  bool folds_ = false;        // see FoldSteps
  bool half_ = false;         // see HoldHalfLine
  bool binary_ = false;       // no text: there are NUL bytes
  std::string escape_;        // an escape sequence that has not ended
  uint64_t taken_ = 0;        // bytes
  Time changed_{};
};

}  // namespace autodist::display
