// Splits one stream of a rank into lines and progress bars that are redrawn.
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

// A line that does not change any more.
struct Line {
  std::string_view text;  // without line feed; of a long one only the beginning
  bool bar = false;       // it was drawn more than once
  // For a line that is too long to keep: its offset in all bytes, including skipped ones.
  std::optional<uint64_t> long_from;
};

// Emulates "\r", "\b" and the escape sequences that programs use to return to earlier lines
// (ECMA-48: CUU, CUD, CHA, CNL, CPL, EL, ED). Other sequences are kept, and so is all output that
// contains NUL bytes. A redrawn line is held until other output follows below it. Not thread-safe.
class LineReader {
 public:
  using OnLine = std::function<void(const Line& line)>;

  // `keep_long`: a line of any length is returned in pieces of 1 MiB; else see Line::long_from.
  void Take(std::string_view bytes, bool keep_long, Time now, const OnLine& on_line);
  // Treats lines that a program prints for each step of an epoch as a bar, as Keras does if stdout
  // is not a terminal: "28/60 ━━━━━━─── 3s 99ms/step - loss: 2.3".
  void FoldSteps() { folds_ = true; }
  // Bytes were skipped: the next ones begin at this offset of all output.
  void SkipTo(uint64_t offset) { taken_ = offset; }
  // Bars that ended with "
  // " and were not redrawn for a while become lines.
  void Settle(Time now, const OnLine& on_line);
  // All bars that ended with "
  // " become lines if other output follows them.
  void EndAbove(const OnLine& on_line);
  // The stream has ended: everything becomes a line.
  void End(const OnLine& on_line);

  // Whether lines are held because they may be redrawn.
  bool HasBars() const {
    return rows_.size() > 1 || rows_[0].kind == Kind::kBar || rows_[0].over || half_;
  }
  // Whether an incomplete line that is not a bar exists: a prompt, or dots.
  bool HasHalfLine() const;
  // Treats it as a bar until it ends.
  void HoldHalfLine() { half_ = HasHalfLine(); }
  bool HoldsHalfLine() const { return half_ && rows_[0].kind == Kind::kPlain; }
  // Time of the last input.
  Time changed() const { return changed_; }
  // The non-empty bars, from top to bottom; valid until the next call.
  std::vector<std::string_view> Bars() const;

 private:
  enum class Kind { kFresh, kPlain, kBar, kErased };
  struct Row {
    std::string text;
    Kind kind = Kind::kFresh;
    bool folded = false;    // a line of a step, which replaced the previous one
    bool over = false;      // the next text replaces this one
    bool is_long = false;   // the text is only its beginning
    uint32_t versions = 0;  // times drawn since the cursor was above; 2: or more
    uint64_t begin = 0;     // offset in all input
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
  // Nothing is held or will be redrawn.
  bool IsAtBegin() const {
    return rows_.size() == 1 && rows_[0].kind == Kind::kFresh && !rows_[0].over && frame_ == 0;
  }

  std::vector<Row> rows_{1};  // the last lines; all but the last are bars, or lines below one
  size_t cursor_ = 0;         // in rows_
  size_t frame_ = 0;          // lines to come that will be redrawn, although they look plain
  bool climbs_ = false;       // the cursor has moved up in these rows
  bool folds_ = false;        // see FoldSteps
  bool half_ = false;         // see HoldHalfLine
  bool binary_ = false;       // contains NUL bytes
  std::string escape_;        // an incomplete escape sequence
  uint64_t taken_ = 0;        // bytes
  Time changed_{};
};

}  // namespace autodist::display
