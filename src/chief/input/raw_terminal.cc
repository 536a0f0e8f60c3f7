#include "chief/input/raw_terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/log.h"

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

}  // namespace autodist::chief
