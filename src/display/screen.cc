#include "display/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "display/row_text.h"

namespace autodist::display {
namespace {

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
  if (ends_with_reader_ && ReaderHasGone(fd)) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
  }
  closed_[stream] = true;
  const std::string what = std::string("cannot write to ") +
                           (stream == kStdout ? "stdout" : "stderr") + " (" + Message(written) +
                           "); the job continues, and its output is in the log files";
  base::Log(base::LogLevel::kWarning, what);
  if (!ReaderHasGone(fd)) warnings_.push_back(what);
}

}  // namespace autodist::display
