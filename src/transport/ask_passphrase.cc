#include "transport/ask_passphrase.h"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>

#include "base/deadline.h"
#include "base/fd.h"
#include "transport/cleanse.h"

namespace autodist::transport {
namespace {

constexpr std::chrono::milliseconds kAnswerLimit{300'000};
constexpr size_t kLongestPassphrase = 1024;

// The terminal without echo, and giving every key as it is pressed: so Ctrl-C is ours to act upon,
// whichever way the program handles signals, and the terminal is never left without echo. As it
// was, at the end.
class SilentTerminal {
 public:
  explicit SilentTerminal(int fd) : fd_(fd), ok_(tcgetattr(fd, &before_) == 0) {
    if (!ok_) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL | ICANON | ISIG | IEXTEN);
    silent.c_cc[VMIN] = 1;
    silent.c_cc[VTIME] = 0;
    ok_ = tcsetattr(fd, TCSAFLUSH, &silent) == 0;
  }
  SilentTerminal(const SilentTerminal&) = delete;
  SilentTerminal& operator=(const SilentTerminal&) = delete;
  ~SilentTerminal() {
    if (ok_) tcsetattr(fd_, TCSANOW, &before_);
  }

  bool ok() const { return ok_; }
  // Whether `key` is the one that the terminal has for this, such as VINTR.
  bool Is(char key, size_t function) const {
    const cc_t code = before_.c_cc[function];
    return code != _POSIX_VDISABLE && static_cast<cc_t>(key) == code;
  }

 private:
  const int fd_;
  termios before_{};
  bool ok_;
};

enum class End { kAnswered, kGivenUp, kInterrupted };

// Removes the last character, which may be of several bytes.
void RemoveLast(std::string& text) {
  while (!text.empty()) {
    const bool continues = (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80;
    text.pop_back();
    if (!continues) return;
  }
}

End ReadAnswer(int fd, const SilentTerminal& terminal, std::string& answer) {
  const base::Deadline deadline = base::Deadline::After(kAnswerLimit);
  for (;;) {
    char key = 0;
    const auto got = base::ReadSome(fd, &key, 1, deadline);
    if (!got.ok() || *got == 0) return End::kGivenUp;
    if (key == '\n' || key == '\r') return End::kAnswered;
    if (terminal.Is(key, VINTR) || terminal.Is(key, VQUIT)) return End::kInterrupted;
    if (terminal.Is(key, VEOF)) return answer.empty() ? End::kGivenUp : End::kAnswered;
    if (terminal.Is(key, VERASE) || key == '\b' || key == '\x7F') {
      RemoveLast(answer);
    } else if (terminal.Is(key, VKILL)) {
      answer.clear();
    } else if (answer.size() < kLongestPassphrase) {
      answer += key;
    }
  }
}

}  // namespace

std::optional<std::string> AskPassphraseOnTerminal(const std::string& key_file, int attempt) {
  const base::UniqueFd fd(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  // In the background, asking would stop the process.
  if (!fd.valid() || tcgetpgrp(fd.get()) != getpgrp()) return std::nullopt;
  const auto show = [&fd](const std::string& text) {
    (void)base::WriteAll(fd.get(), text, base::Deadline::After(kAnswerLimit));
  };
  std::string answer;
  answer.reserve(kLongestPassphrase);  // no copy is left behind when it grows
  const CleanseAtEnd cleanse(answer);
  End end = End::kGivenUp;
  {
    const SilentTerminal terminal(fd.get());
    if (!terminal.ok()) return std::nullopt;
    show((attempt > 1 ? "Wrong passphrase. Passphrase for " : "Passphrase for ") + key_file + ": ");
    end = ReadAnswer(fd.get(), terminal, answer);
    show("\n");
  }
  if (end == End::kInterrupted) kill(getpid(), SIGINT);
  if (end != End::kAnswered) return std::nullopt;
  return answer;
}

}  // namespace autodist::transport
