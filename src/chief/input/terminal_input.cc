#include "chief/input/terminal_input.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace autodist::chief {
namespace {

// For Restore, which a signal handler may call at any time.
termios mode_before;
std::atomic<bool> is_raw = false;
static_assert(std::atomic<bool>::is_always_lock_free);

// Works from the background, too, where SIGTTOU would stop the process.
bool SetMode(const termios& mode) {
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGTTOU);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const bool done = tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return done;
}

}  // namespace

EscapeKeys::Typed EscapeKeys::Take(std::string_view typed) {
  Typed taken;
  for (const char c : typed) {
    if (state_ == State::kBegin && c == '~') {
      state_ = State::kEscape;
      continue;
    }
    if (state_ == State::kEscape) {
      state_ = State::kBegin;
      if (c == '.') {
        taken.keys.push_back(Key::kLeave);
        return taken;
      }
      if (c == '?') {
        taken.keys.push_back(Key::kHelp);
        continue;
      }
      if (c != '~') taken.bytes += '~';
    }
    taken.bytes += c;
    // Enter, in any terminal mode; Ctrl-C and Ctrl-D also begin a line.
    const bool ends_line = c == '\r' || c == '\n' || c == '\x03' || c == '\x04';
    state_ = ends_line ? State::kBegin : State::kLine;
  }
  return taken;
}

bool RawTerminal::IsOurs() {
  return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

v1::TerminalSize RawTerminal::Size() {
  v1::TerminalSize size;
  winsize found{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &found) == 0) {
    size.set_rows(found.ws_row);
    size.set_columns(found.ws_col);
  }
  return size;
}

Result<std::unique_ptr<RawTerminal>> RawTerminal::Enter() {
  if (tcgetattr(STDIN_FILENO, &mode_before) != 0) return ErrnoError(errno, "this terminal");
  termios raw = mode_before;
  cfmakeraw(&raw);
  is_raw = true;
  base::SetRawTerminal(true);
  if (!SetMode(raw)) {
    const int error = errno;
    is_raw = false;
    return ErrnoError(error, "this terminal");
  }
  return std::unique_ptr<RawTerminal>(new RawTerminal);
}

void RawTerminal::Restore() {
  if (!is_raw.exchange(false)) return;
  const int error = errno;
  (void)SetMode(mode_before);  // fails if the terminal has closed
  errno = error;
}

Result<std::unique_ptr<StdinReader>> StdinReader::Start(Events events) {
  std::unique_ptr<StdinReader> reader(new StdinReader(std::move(events)));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  reader->resized_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!reader->resized_.valid()) return ErrnoError(errno, "signalfd");
  AD_ASSIGN_OR_RETURN(reader->wake_, base::Pipe());
  AD_RETURN_IF_ERROR(base::SetNonBlocking(reader->wake_.second.get()));
  AD_RETURN_IF_ERROR(base::SetNonBlocking(reader->wake_.first.get()));
  AD_ASSIGN_OR_RETURN(reader->thread_, base::StartThread([&own = *reader] { own.Loop(); }));
  return reader;
}

StdinReader::~StdinReader() {
  if (!thread_.joinable()) return;
  wake_.second.Reset();
  thread_.join();
}

void StdinReader::Taken(uint64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    Release(static_cast<size_t>(std::min<uint64_t>(bytes, ahead_)));
  }
  (void)!write(wake_.second.get(), "+", 1);  // a full pipe wakes it, too
}

void StdinReader::Release(size_t bytes) {
  ahead_ -= bytes;
  while (bytes > 0) {
    const size_t of_first = std::min(bytes, pieces_.front());
    bytes -= of_first;
    pieces_.front() -= of_first;
    if (pieces_.front() == 0) pieces_.pop_front();
  }
}

size_t StdinReader::Room() {
  const std::lock_guard lock(mutex_);
  return pieces_.size() >= kMaxPieces ? 0 : std::min(kPiece, kAhead - std::min(kAhead, ahead_));
}

void StdinReader::Loop() {
  std::array<char, kPiece> piece;
  bool ended = false;
  for (;;) {
    const size_t room = ended ? 0 : Room();
    pollfd fds[] = {{wake_.first.get(), POLLIN, 0},
                    {resized_.get(), POLLIN, 0},
                    {room > 0 ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 3, -1) < 0) continue;
    if (fds[0].revents != 0 && read(wake_.first.get(), piece.data(), piece.size()) == 0) return;
    signalfd_siginfo info;
    if (fds[1].revents != 0 && read(resized_.get(), &info, sizeof info) == sizeof info) {
      events_.resized(RawTerminal::Size());
    }
    if (fds[2].revents == 0) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), room);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) {  // end of input, or the terminal has closed
      ended = true;
      events_.end();
      continue;
    }
    const auto count = static_cast<size_t>(got);
    {
      const std::lock_guard lock(mutex_);
      ahead_ += count;
      pieces_.push_back(count);
    }
    const size_t to_be_taken = events_.bytes(std::string(piece.data(), count));
    const std::lock_guard lock(mutex_);
    Release(std::min(ahead_, count - std::min(count, to_be_taken)));
  }
}

}  // namespace autodist::chief
