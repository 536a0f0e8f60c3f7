#include "display/line_reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace autodist::display {
namespace {

constexpr size_t kMaxLineKeptLength = 1 << 20;
constexpr size_t kMaxBarLength = 64 * 1024;
constexpr size_t kLongLineBeginning = 400;  // kept bytes of a longer line
constexpr size_t kMaxHalfLineLength = 4096;
constexpr size_t kMaxRows = 50;
constexpr size_t kMaxEscapeLength = 32;
// Programs redraw bars without a pause.
constexpr std::chrono::milliseconds kSettled{300};
constexpr char kEscape = '\x1b';

// Whether the text contains controls other than "
// ". Three searches, because most text has none.
bool HasControls(std::string_view text) {
  return text.find('\r') != text.npos || text.find(kEscape) != text.npos ||
         text.find('\b') != text.npos;
}

size_t LengthOfText(std::string_view bytes) {
  const auto* const control = std::ranges::find_if(bytes, [](char byte) {
    return byte == '\n' || byte == '\r' || byte == kEscape || byte == '\b';
  });
  return static_cast<size_t>(control - bytes.begin());
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(' ') == text.npos; }

bool IsEscapeEnd(char byte) { return byte >= 0x40 && byte <= 0x7E; }

// Removes digits from the front, and returns them.
std::string_view TakeDigits(std::string_view& text) {
  const auto* const end =
      std::ranges::find_if(text, [](char byte) { return byte < '0' || byte > '9'; });
  const std::string_view digits = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

void SkipSequence(std::string_view& text) {
  if (!text.starts_with("\x1b[")) return;
  const auto* const end = std::ranges::find_if(text.substr(2), IsEscapeEnd);
  text.remove_prefix(std::min(static_cast<size_t>(end - text.begin()) + 1, text.size()));
}

enum class StepLine { kNone, kStep, kLastStep };

// "\x1b[1m28/60\x1b[0m \x1b[32m━━━━…", "28/60 [====>...] - ETA: 3s"
StepLine StepLineOf(std::string_view text) {
  SkipSequence(text);
  const std::string_view step = TakeDigits(text);
  if (step.empty() || !text.starts_with('/')) return StepLine::kNone;
  text.remove_prefix(1);
  const std::string_view total = TakeDigits(text);
  SkipSequence(text);
  if (total.empty() || !text.starts_with(' ')) return StepLine::kNone;
  text.remove_prefix(1);
  SkipSequence(text);
  const bool bar = text.starts_with("━") || text.starts_with("─") || text.starts_with("╸") ||
                   text.starts_with("[=") || text.starts_with("[>") || text.starts_with("[.");
  if (!bar || text.find("s/step") == text.npos) {
    if (!bar || text.find("ETA: ") == text.npos) return StepLine::kNone;
  }
  return step == total ? StepLine::kLastStep : StepLine::kStep;
}

// The first parameter of a control sequence: "\x1b[12A" → 12.
uint32_t FirstParameter(std::string_view sequence, uint32_t without) {
  uint32_t number = 0;
  const std::string_view digits = sequence.substr(2);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return parsed.ec == std::errc() ? number : without;
}

}  // namespace

void LineReader::Take(std::string_view bytes, bool keep_long, Time now, const OnLine& on_line) {
  changed_ = now;
  binary_ = binary_ || bytes.find('\0') != bytes.npos;
  const bool controls = !binary_ && HasControls(bytes);
  while (!bytes.empty()) {
    size_t done = 0;
    if (!escape_.empty() && static_cast<unsigned char>(bytes[0]) < ' ') {
      Add(std::exchange(escape_, ""), keep_long, on_line);  // not an escape sequence
    } else if (!escape_.empty()) {
      done = 1;
      ++taken_;
      TakeEscape(bytes[0], keep_long, on_line);
    } else {
      done =
          TakeText(bytes, controls ? LengthOfText(bytes) : std::min(bytes.find('\n'), bytes.size()),
                   keep_long, on_line);
    }
    bytes.remove_prefix(done);
  }
}

// Takes text of this length and its line end; returns the number of bytes taken.
size_t LineReader::TakeText(std::string_view bytes, size_t length, bool keep_long,
                            const OnLine& on_line) {
  const std::string_view text = bytes.substr(0, length);
  taken_ += length;
  if (length < bytes.size() && bytes[length] == '\n' && length <= kMaxLineKeptLength &&
      IsAtBegin() && !(folds_ && StepLineOf(text) != StepLine::kNone)) {
    on_line({text, false, {}});  // most lines are complete, and need no buffer
    ++taken_;
    return length + 1;
  }
  Add(text, keep_long, on_line);
  if (length == bytes.size()) return length;
  ++taken_;
  TakeControl(bytes[length], on_line);
  return length + 1;
}

void LineReader::TakeControl(char control, const OnLine& on_line) {
  switch (control) {
    case '\n':
      return EndRow(on_line);
    case '\r':
      return Return();
    case '\b':
      return BackSpace();
    default:
      escape_ = kEscape;
  }
}

// Takes one byte, because a sequence may be split. An unknown sequence is text.
void LineReader::TakeEscape(char byte, bool keep_long, const OnLine& on_line) {
  escape_ += byte;
  const bool control_sequence = escape_[1] == '[';
  if (control_sequence && (escape_.size() == 2 || !IsEscapeEnd(byte)) &&
      escape_.size() < kMaxEscapeLength) {
    return;
  }
  const std::string sequence = std::exchange(escape_, "");
  if (control_sequence && std::string_view("ABEFGJKhl").find(byte) != std::string_view::npos) {
    Obey(byte, FirstParameter(sequence, byte == 'J' || byte == 'K' ? 0 : 1));
  } else {
    Add(sequence, keep_long, on_line);
  }
}

void LineReader::Obey(char command, uint32_t count) {
  switch (command) {
    case 'F':
    case 'A':
      GoUp(count);
      if (command == 'F') row().over = true;
      break;
    case 'E':
    case 'B':
      cursor_ = std::min(cursor_ + count, rows_.size() - 1);
      if (command == 'E') row().over = true;
      break;
    case 'G':
      if (count <= 1) row().over = true;
      break;
    case 'J':
      rows_.resize(cursor_ + 1);
      [[fallthrough]];
    case 'K':
      if (row().over || count > 0) row().text.clear();
      break;
    default:  // shows or hides the cursor
      break;
  }
}

void LineReader::Add(std::string_view text, bool keep_long, const OnLine& on_line) {
  if (text.empty()) return;
  if (row().over) Overwrite(on_line);
  Row& here = row();
  if (here.kind == Kind::kFresh || here.kind == Kind::kErased) {
    here.kind = frame_ > 0 ? Kind::kBar : Kind::kPlain;
    here.begin = taken_ - text.size();
  }
  if (here.is_long) return;
  here.text += text;
  if (here.kind == Kind::kBar) {
    here.text.resize(std::min(here.text.size(), kMaxBarLength));
  } else if (here.text.size() <= kMaxLineKeptLength) {
    return;
  } else if (keep_long) {
    on_line({here.text, false, {}});
    here.text.clear();
  } else {
    here.is_long = true;
    here.text.resize(kLongLineBeginning);
  }
}

// Starts the row again.
void LineReader::Overwrite(const OnLine& on_line) {
  // The row is redrawn without moving up, so the rows above have ended.
  if (row().versions == 1 && cursor_ > 0) Commit(cursor_, on_line);
  Row& here = row();
  here.text.clear();
  here.over = false;
  here.kind = Kind::kBar;
  here.versions = std::min(here.versions + 1, 2u);
}

void LineReader::EndRow(const OnLine& on_line) {
  Row& here = row();
  here.over = false;  // "\r\n" ends a line like "\n"
  if (frame_ > 0) --frame_;
  const bool last = cursor_ + 1 == rows_.size();
  if (folds_ && last && frame_ == 0 && Fold(on_line)) return;
  if (here.kind != Kind::kBar && (last || !IsBlank(here.text))) {
    return Commit(cursor_ + 1, on_line);
  }
  if (last) rows_.emplace_back();
  ++cursor_;
  row().over = !row().text.empty();
  if (rows_.size() > kMaxRows) Commit(1, on_line);
}

// If the row is of a step, it replaces that of the previous step.
bool LineReader::Fold(const OnLine& on_line) {
  const StepLine line = row().kind == Kind::kPlain ? StepLineOf(row().text) : StepLine::kNone;
  if (line == StepLine::kNone) return false;
  if (cursor_ > 0 && rows_[cursor_ - 1].folded) {
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(cursor_ - 1));
    --cursor_;
  }
  if (line == StepLine::kLastStep) {
    Commit(cursor_ + 1, on_line);
    return true;
  }
  row().folded = true;
  row().kind = Kind::kBar;
  rows_.emplace_back();
  ++cursor_;
  if (rows_.size() > kMaxRows) Commit(1, on_line);
  return true;
}

void LineReader::Return() {
  Row& here = row();
  if (!here.text.empty() && IsBlank(here.text)) {
    // The row was overwritten with spaces, to print something else there.
    here.text.clear();
    here.kind = Kind::kErased;
  } else {
    here.over = true;
  }
}

void LineReader::BackSpace() {
  std::string& text = row().text;
  if (row().over || text.empty()) return;
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
  row().kind = Kind::kBar;
}

void LineReader::GoUp(size_t rows) {
  // The program has printed plain lines, and goes back to redraw them.
  if (rows > cursor_) frame_ = std::min(rows, kMaxRows);
  climbs_ = true;
  cursor_ -= std::min(rows, cursor_);
  row().kind = Kind::kBar;
  row().over = true;
  for (size_t i = cursor_; i < rows_.size(); ++i) rows_[i].versions = 0;
}

// The first rows become lines.
void LineReader::Commit(size_t rows, const OnLine& on_line) {
  for (size_t i = 0; i < rows; ++i) {
    const Row& ended = rows_[i];
    const bool bar = ended.kind == Kind::kBar;
    if ((bar || ended.kind == Kind::kErased) && IsBlank(ended.text)) continue;
    on_line({ended.text, bar, ended.is_long ? std::optional(ended.begin) : std::nullopt});
  }
  half_ = false;
  cursor_ -= std::min(cursor_, rows);
  if (rows < rows_.size()) {
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(rows));
    return;
  }
  std::string room = std::move(rows_[0].text);  // buffer for the next line
  room.clear();
  rows_.resize(1);
  rows_[0] = Row{std::move(room)};
  climbs_ = false;
}

bool LineReader::HasHalfLine() const {
  return rows_.size() == 1 && rows_[0].kind == Kind::kPlain && !rows_[0].over && !half_ &&
         !binary_ && rows_[0].text.size() <= kMaxHalfLineLength;
}

void LineReader::Settle(Time now, const OnLine& on_line) {
  if (cursor_ > 0 && rows_[cursor_ - 1].folded) return;  // a step may take long
  if (row().kind == Kind::kFresh && now - changed_ >= kSettled) EndAbove(on_line);
}

void LineReader::EndAbove(const OnLine& on_line) {
  if (cursor_ > 0 && !climbs_) Commit(cursor_, on_line);
}

void LineReader::End(const OnLine& on_line) {
  if (!escape_.empty()) Add(std::exchange(escape_, ""), false, on_line);
  if (rows_.back().kind == Kind::kFresh) rows_.pop_back();
  if (!rows_.empty()) Commit(rows_.size(), on_line);
  rows_.resize(1);
  cursor_ = 0;
  frame_ = 0;
}

std::vector<std::string_view> LineReader::Bars() const {
  std::vector<std::string_view> bars;
  if (!HasBars()) return bars;
  for (const Row& held : rows_) {
    if (!IsBlank(held.text)) bars.push_back(held.text);
  }
  return bars;
}

}  // namespace autodist::display
