#include "top/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"

namespace autodist::top {
namespace {

constexpr std::chrono::seconds kRestoreLimit{1};  // for a terminal whose output is paused

// Alternate screen, no line wrap, no cursor; and back, where a terminal without alternate screen
// continues on a new line in plain text.
constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[0m\x1b[2J";
constexpr char kLeaveScreen[] = "\x1b[?2026l\x1b[0m\x1b[2J\x1b[H\x1b[?7h\x1b[?25h\x1b[?1049l";

Status Unable(const std::string& why) { return Error(StatusCode::kFailedPrecondition, why); }

// Also works from the background, where the kernel would stop the process for it.
void SetTerminalMode(int fd, const termios& mode) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  (void)tcsetattr(fd, TCSANOW, &mode);  // fails if the terminal has gone
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Synchronized output (DEC private mode 2026) if the terminal supports it; others ignore it.
constexpr char kBeginFrame[] = "\x1b[?2026h";
constexpr char kEndFrame[] = "\x1b[?2026l";
constexpr char kClear[] = "\x1b[0m\x1b[2J";
constexpr int kNamed = 8;
// Rewriting up to this many unchanged cells costs less than moving the cursor.
constexpr int kWorthGoing = 8;

void AddColour(std::string& text, int16_t colour, int first, Colours colours) {
  if (colour == kPlain || colours == Colours::kNone) return;
  if (colour < kNamed) {
    text += ";" + std::to_string(first + colour);
  } else if (colours == Colours::kAll) {
    text += ";" + std::to_string(first + 8) + ";5;" + std::to_string(colour);
  }
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::Open() {
  if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
    return Unable("stdin or stdout is not a terminal");
  }
  const char* const name = std::getenv("TERM");
  if (!name || !*name || std::string_view(name) == "dumb") {
    return Unable("this terminal cannot place a cursor (TERM=" + std::string(name ? name : "") +
                  ")");
  }
  base::UniqueFd tty(open("/dev/tty", O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!tty.valid()) return ErrnoError(errno, "/dev/tty");
  return std::unique_ptr<Terminal>(new Terminal(std::move(tty)));
}

Size Terminal::size() const {
  winsize found{};
  if (ioctl(tty_.get(), TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return {};
  }
  constexpr int kMost = 2000;  // limits what a terminal may claim
  return {std::min<int>(found.ws_col, kMost), std::min<int>(found.ws_row, kMost)};
}

void Terminal::Enter() {
  if (entered_ || tcgetattr(tty_.get(), &before_) != 0) return;
  entered_ = true;
  termios raw = before_;
  cfmakeraw(&raw);
  base::SetRawTerminal(true);
  SetTerminalMode(tty_.get(), raw);
  pending_ = kEnterScreen;
}

void Terminal::Leave() {
  if (!std::exchange(entered_, false)) return;
  pending_.clear();
  (void)base::WriteAll(tty_.get(), kLeaveScreen, base::Deadline::After(kRestoreLimit));
  SetTerminalMode(tty_.get(), before_);
  base::SetRawTerminal(false);
}

bool Terminal::Read(std::string& bytes) const {
  std::array<char, 4096> buffer;
  const ssize_t length = read(tty_.get(), buffer.data(), buffer.size());
  if (length < 0) return errno == EAGAIN || errno == EINTR;
  bytes.append(buffer.data(), static_cast<size_t>(length));
  return length > 0;
}

void Terminal::Write(std::string_view text) { pending_ += text; }

bool Terminal::Flush() {
  while (!pending_.empty()) {
    const ssize_t length = write(tty_.get(), pending_.data(), pending_.size());
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    pending_.erase(0, static_cast<size_t>(length));
  }
  return true;
}

Colours ColoursOf(const char* term, const char* colour_term, const char* no_colour) {
  if (no_colour && *no_colour) return Colours::kNone;
  const std::string_view name = term ? term : "";
  if (name.starts_with("vt")) return Colours::kNone;
  const bool many = name.find("256") != name.npos || name.find("direct") != name.npos ||
                    name.find("kitty") != name.npos || name.find("alacritty") != name.npos;
  return many || (colour_term && *colour_term) ? Colours::kAll : Colours::kNamed;
}

void Painter::SetStyle(const Style& style, std::string& text) {
  if (style == style_) return;
  style_ = style;
  text += "\x1b[0";
  if (style.bold) text += ";1";
  if (style.faint && colours_ != Colours::kAll) text += ";2";
  // Issues stay visible without colors.
  const bool marked = style.back != kPlain && style.back < kNamed;
  if (style.reverse || (marked && colours_ == Colours::kNone)) text += ";7";
  AddColour(text, style.fore, 30, colours_);
  AddColour(text, style.back, 40, colours_);
  text += 'm';
}

void Painter::DrawRow(const Frame& next, int row, std::string& text) {
  int cursor = -1;  // the cursor's column; -1: in another row
  for (int column = 0; column < next.columns(); ++column) {
    const Cell& cell = next.at(row, column);
    if (cell.glyph == 0) continue;  // drawn with the previous cell
    const bool second = column + 1 < next.columns() && next.at(row, column + 1).glyph == 0;
    const bool same =
        shown_.at(row, column) == cell && (!second || shown_.at(row, column + 1).glyph == 0);
    if (same) continue;
    if (cursor >= 0 && column - cursor <= kWorthGoing) {
      for (; cursor < column; ++cursor) {
        const Cell& between = next.at(row, cursor);
        if (between.glyph == 0) continue;
        SetStyle(between.style, text);
        AppendCharacter(text, between.glyph);
      }
    } else {
      text += "\x1b[" + std::to_string(row + 1) + ";" + std::to_string(column + 1) + "H";
    }
    SetStyle(cell.style, text);
    AppendCharacter(text, cell.glyph);
    cursor = column + (second ? 2 : 1);
  }
}

std::string Painter::Draw(const Frame& next) {
  const bool whole = shown_.columns() != next.columns() || shown_.rows() != next.rows();
  std::string text;
  if (whole) {
    text = kClear;
    style_ = {};
    shown_ = Frame(next.columns(), next.rows());  // blank, as the terminal is now
  }
  for (int row = 0; row < next.rows(); ++row) DrawRow(next, row, text);
  shown_ = next;
  return text.empty() ? text : kBeginFrame + text + kEndFrame;
}

}  // namespace autodist::top
