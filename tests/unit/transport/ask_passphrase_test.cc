#include "transport/ask_passphrase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/fd.h"

namespace autodist::transport {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::milliseconds kLimit{20'000};

std::string Describe(const std::optional<std::string>& answer) {
  return answer ? "answer <" + *answer + ">" : "nothing";
}

// A child process that asks on a terminal of its own, at whose other end we type. It reports what
// it got through a pipe.
class AskPassphraseTest : public testing::Test {
 protected:
  void Start(int attempt = 1) {
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    int terminal = -1;
    child_ = forkpty(&terminal, nullptr, nullptr, nullptr);
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      close(fds[0]);
      const std::string report = Describe(AskPassphraseOnTerminal("/home/u/key", attempt));
      _exit(write(fds[1], report.data(), report.size()) > 0 ? 0 : 1);
    }
    close(fds[1]);
    report_.Reset(fds[0]);
    terminal_.Reset(terminal);
  }
  ~AskPassphraseTest() override {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  void AwaitPrompt(const std::string& prompt) {
    const base::Deadline deadline = base::Deadline::After(kLimit);
    while (!shown_.ends_with(prompt)) {
      char byte = 0;
      const auto got = base::ReadSome(terminal_.get(), &byte, 1, deadline);
      ASSERT_TRUE(got.ok() && *got == 1) << shown_;
      shown_ += byte;
    }
  }
  void Type(const std::string& keys) {
    EXPECT_TRUE(base::WriteAll(terminal_.get(), keys, base::Deadline::After(kLimit)).ok());
  }
  std::string Report() {
    std::string report;
    char buffer[256];
    for (;;) {
      const auto got =
          base::ReadSome(report_.get(), buffer, sizeof buffer, base::Deadline::After(kLimit));
      if (!got.ok() || *got == 0) return report;
      report.append(buffer, *got);
    }
  }
  bool Echo() const {
    termios state{};
    tcgetattr(terminal_.get(), &state);
    return (state.c_lflag & ECHO) != 0 && (state.c_lflag & ICANON) != 0;
  }

  pid_t child_ = -1;
  base::UniqueFd terminal_;
  base::UniqueFd report_;
  std::string shown_;
};

TEST_F(AskPassphraseTest, WhatIsTypedIsNotShown) {
  Start();
  AwaitPrompt("Passphrase for /home/u/key: ");
  EXPECT_FALSE(Echo());
  Type("secret\r");
  EXPECT_EQ(Report(), "answer <secret>");
  EXPECT_TRUE(Echo());
  AwaitPrompt("\n");
  EXPECT_THAT(shown_, Not(HasSubstr("secret")));
}

TEST_F(AskPassphraseTest, SaysThatTheLastOneWasWrong) {
  Start(2);
  AwaitPrompt("Wrong passphrase. Passphrase for /home/u/key: ");
  Type("x\r");
  EXPECT_EQ(Report(), "answer <x>");
}

TEST_F(AskPassphraseTest, MistakesCanBeCorrected) {
  Start();
  AwaitPrompt(": ");
  Type(
      "wrong\x15sex\x7F"
      "cr\xC3\xA9\xC3\xA9\x7F"
      "t\r");
  EXPECT_EQ(Report(), "answer <secr\xC3\xA9t>");
}

TEST_F(AskPassphraseTest, EndOfInputIsNoAnswer) {
  Start();
  AwaitPrompt(": ");
  Type("\x04");
  EXPECT_EQ(Report(), "nothing");
  EXPECT_TRUE(Echo());
}

TEST_F(AskPassphraseTest, InterruptIsDeliveredWithTheTerminalAsItWas) {
  Start();
  AwaitPrompt(": ");
  Type("sec\x03");
  EXPECT_EQ(Report(), "");
  int status = 0;
  ASSERT_EQ(waitpid(child_, &status, 0), child_);
  child_ = -1;
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST_F(AskPassphraseTest, InterruptDoesNotLeaveTheTerminalSilent) {
  Start();
  AwaitPrompt(": ");
  Type("\x03");
  AwaitPrompt("\n");
  Report();
  EXPECT_TRUE(Echo());
}

TEST(NoTerminalTest, GivesNothing) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    setsid();  // leaves the terminal, if there is one
    _exit(AskPassphraseOnTerminal("/home/u/key", 1) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace autodist::transport
