#include "display/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/text_width.h"
#include "base/utf8.h"

namespace autodist::display {
namespace {

constexpr size_t kTabWidth = 8;

// The length of the escape sequence at the beginning of `text`; all of it if incomplete.
size_t SequenceLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^' || text[1] == 'X') {
    // A string that ends with BEL or ESC '\'.
    const size_t end = text.find_first_of("\x07\x1b", 2);
    if (end == text.npos) return text.size();
    return text[end] == '\x1b' ? std::min(end + 2, text.size()) : end + 1;
  }
  if (text[1] != '[') return 2;
  for (size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= 0x40 && text[i] <= 0x7E) return i + 1;
  }
  return text.size();
}

bool IsColour(std::string_view sequence) {
  return sequence.starts_with("\x1b[") && sequence.ends_with('m') &&
         sequence.find_first_not_of("0123456789;:", 2) == sequence.size() - 1;
}

constexpr std::chrono::milliseconds kFrameInterval{100};
constexpr size_t kMaxPending = 1 << 20;  // bytes of consecutive texts of one stream
constexpr size_t kMaxTexts = 1000;
constexpr size_t kMaxWaiting = 64 * 1024;  // bytes that wait for the next frame
constexpr size_t kPartForBars = 3;         // a third of the terminal's rows
// For a terminal that does not report its size.
constexpr winsize kUsualSize{24, 80, 0, 0};

int Descriptor(Stream stream) { return stream == kStdout ? STDOUT_FILENO : STDERR_FILENO; }

bool IsTerminal(Stream stream) { return isatty(Descriptor(stream)) == 1; }

bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// Whether the terminal supports escape sequences.
bool CanDraw() {
  const char* const kind = std::getenv("TERM");
  return kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

// For a pipe or a socket.
bool ReaderHasGone(int fd) {
  pollfd look{fd, POLLOUT, 0};
  return poll(&look, 1, 0) > 0 && (look.revents & POLLERR) != 0;
}

winsize SizeOf(Stream stream) {
  winsize size{};
  const bool known = ioctl(Descriptor(stream), TIOCGWINSZ, &size) == 0;
  return known && size.ws_row > 0 && size.ws_col > 0 ? size : kUsualSize;
}

}  // namespace

void EndAsBySigpipe() {
  signal(SIGPIPE, SIG_DFL);
  raise(SIGPIPE);
  _exit(128 + SIGPIPE);  // it is blocked
}

std::string Harmless(std::string_view text) {
  return Cut(text, std::numeric_limits<size_t>::max());
}

std::string Cut(std::string_view text, size_t columns) {
  std::string cut;
  for (size_t used = 0; !text.empty();) {
    if (text[0] == '\x1b') {
      const std::string_view sequence = text.substr(0, SequenceLength(text));
      if (IsColour(sequence)) cut += sequence;
      text.remove_prefix(sequence.size());
      continue;
    }
    const size_t length = base::Utf8CharacterLength(text);
    const std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    text.remove_prefix(character.size());
    const uint32_t code = length == 0 ? '?' : base::CodePoint(character);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    if (control && code != '\t') continue;
    const size_t width = code == '\t' ? kTabWidth - used % kTabWidth : base::ColumnsOf(code);
    if (used + width > columns) break;
    used += width;
    if (code == '\t' && columns != std::numeric_limits<size_t>::max()) {
      cut.append(width, ' ');
    } else {
      cut += length == 0 ? "?" : character;
    }
  }
  return cut;
}

std::string BarLabel(std::string_view bar) {
  const auto is_digit = [](char byte) { return byte >= '0' && byte <= '9'; };
  const size_t percent = bar.find('%');
  size_t end = percent;
  if (percent == bar.npos) {
    end = static_cast<size_t>(std::ranges::find_if(bar, is_digit) - bar.begin());
  } else {
    while (end > 0 && (is_digit(bar[end - 1]) || bar[end - 1] == '.')) --end;
  }
  std::string_view label = bar.substr(0, end);
  // Dots that are added one by one do not make it a different bar.
  while (label.ends_with(' ') || label.ends_with('.')) label.remove_suffix(1);
  return std::string(label);
}

Style StyleOf(Stream stream, Colour colour) {
  const bool terminal = IsTerminal(stream);
  const bool can = terminal && CanDraw() && !IsSet("NO_COLOR");
  return {terminal, colour == Colour::kAlways || (colour == Colour::kAuto && can)};
}

Screen::Screen() : terminal_{IsTerminal(kStdout), IsTerminal(kStderr)} {
  live_ = CanDraw() && (terminal_[kStdout] || terminal_[kStderr]);
  where_ = terminal_[kStderr] ? kStderr : kStdout;
}

void Screen::Append(Stream stream, std::string_view text) {
  if (pending_.empty() || pending_.back().stream != stream) {
    pending_.push_back({stream, std::exchange(room_, "")});
  }
  std::string& pending = pending_.back().text;
  pending.append(text);
  if (pending.size() <= kMaxPending && pending_.size() <= kMaxTexts) return;
  Erase();
  FlushAll();
}

void Screen::SetBars(std::vector<std::string> rows) {
  if (!live_ || rows == bars_) return;
  bars_ = std::move(rows);
  changed_ = true;
}

size_t Screen::Room() const { return std::max<size_t>(SizeOf(where_).ws_row / kPartForBars, 1); }

void Screen::Update(Time now) {
  const bool bars = live_ && (drawn_ > 0 || !bars_.empty());
  Flush({!bars || !terminal_[kStdout], !bars || !terminal_[kStderr]});
  size_t waiting = 0;  // for the next frame
  for (const Text& pending : pending_) waiting += pending.text.size();
  if (waiting == 0 && !changed_) return;
  if (now < next_frame_ && waiting < kMaxWaiting) return;
  next_frame_ = now + kFrameInterval;
  if (waiting > 0) Clear();
  Draw();
}

std::optional<Time> Screen::Due() const {
  if (changed_ || !pending_.empty()) return next_frame_;
  return std::nullopt;
}

void Screen::Clear() {
  Erase();
  FlushAll();
}

void Screen::Erase() {
  if (drawn_ == 0) return;
  const size_t up = std::exchange(drawn_, 0) - 1;
  WriteLive((up > 0 ? "\r\x1b[" + std::to_string(up) + "A" : "\r") + "\x1b[J");
  changed_ = true;
}

// Draws over the existing rows to avoid flicker. Disables line wrap meanwhile, so that a character
// that is wider than expected does not add a row.
void Screen::Draw() {
  changed_ = false;
  if (bars_.empty() && drawn_ == 0) return;
  const size_t width = SizeOf(where_).ws_col;
  std::string frame = "\x1b[?7l\r";
  if (drawn_ > 1) frame += "\x1b[" + std::to_string(drawn_ - 1) + "A";
  for (size_t i = 0; i < bars_.size(); ++i) {
    frame += (i > 0 ? "\r\n" : "") + Cut(bars_[i], width) + "\x1b[0m\x1b[K";
  }
  frame += bars_.size() < drawn_ ? "\x1b[J\x1b[?7h" : "\x1b[?7h";
  drawn_ = bars_.size();
  WriteLive(frame);
}

void Screen::WriteLive(std::string_view text) {
  if (base::WriteAll(Descriptor(where_), text, base::Deadline::Never()).ok()) return;
  live_ = false;  // writing lines will report the error
  bars_.clear();
  drawn_ = 0;
  changed_ = false;
}

void Screen::Flush(std::array<bool, 2> streams) {
  for (Text& pending : pending_) {
    if (!streams[pending.stream]) continue;
    if (!closed_[pending.stream]) Write(pending.stream, pending.text);
    pending.text.clear();
    if (pending.text.capacity() > room_.capacity()) std::swap(room_, pending.text);
  }
  std::erase_if(pending_, [](const Text& pending) { return pending.text.empty(); });
}

void Screen::Write(Stream stream, std::string_view text) {
  const int fd = Descriptor(stream);
  const Status written = base::WriteAll(fd, text, base::Deadline::Never());
  if (written.ok()) return;
  if (ends_with_reader_ && ReaderHasGone(fd)) EndAsBySigpipe();
  closed_[stream] = true;
  const std::string what = std::string("cannot write to ") +
                           (stream == kStdout ? "stdout" : "stderr") + " (" + Message(written) +
                           "); the job is not affected, and its output is in the log files";
  base::Log(base::LogLevel::kWarning, what);
  if (!ReaderHasGone(fd)) warnings_.push_back(what);
}

}  // namespace autodist::display
