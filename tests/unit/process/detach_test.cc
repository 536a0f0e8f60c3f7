#include "process/detach.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>

#include "base/log_folder.h"
#include "support/temp_folder.h"

namespace autodist::process {
namespace {

using testing::HasSubstr;

void Print(const std::string& text) { (void)!write(STDOUT_FILENO, text.data(), text.size()); }

// A process that detaches itself. The test reads the output of both processes.
class AtTerminal {
 public:
  explicit AtTerminal(const std::function<int(Detached&)>& work) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    std::fflush(nullptr);  // otherwise the child prints it again
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fds[1], STDOUT_FILENO);
      dup2(fds[1], STDERR_FILENO);
      close(fds[0]);
      close(fds[1]);
      auto outcome = Detached::Fork();
      if (!outcome.ok()) _exit(99);
      if (auto* detached = std::get_if<std::unique_ptr<Detached>>(&*outcome)) {
        _exit(work(**detached));
      }
      const auto& reported = std::get<DetachOutcome>(*outcome);
      Print(reported.running ? "it runs\n" : "it has ended\n");
      _exit(reported.exit_code);
    }
    close(fds[1]);
    output_.Reset(fds[0]);
  }

  pid_t pid() const { return pid_; }
  std::string ReadLine() const {
    std::string line;
    char byte = 0;
    while (!line.ends_with('\n') && read(output_.get(), &byte, 1) == 1) line += byte;
    return line;
  }
  // Reads until all writers have closed.
  std::string ReadRest() const {
    std::string text;
    for (std::string line = ReadLine(); !line.empty(); line = ReadLine()) text += line;
    return text;
  }
  int WaitStatus() const {
    int status = 0;
    waitpid(pid_, &status, 0);
    return status;
  }
  int ExitCode() const {
    const int status = WaitStatus();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  base::UniqueFd output_;
};

class DetachTest : public testing::Test {
 protected:
  void SetUp() override {
    base::OpenStandardStreams();  // as the program does
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer has an additional thread in every forked process";
#endif
  }
};

Result<base::UniqueFd> OutputIn(const std::string& folder) {
  return base::LogFolder(folder).OpenFile("output.log", O_WRONLY | O_CREAT | O_APPEND);
}

TEST_F(DetachTest, OnceStartedItHasNoTerminalAndContinues) {
  const test::TempFolder folder;
  const std::string file = folder.path() + "/output.log";
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  base::UniqueFd go_on(fds[1]);
  const AtTerminal terminal([&](Detached& detached) {
    go_on.Reset();
    Print("before\n");
    detached.Started(OutputIn(folder.path()));
    char byte = 0;
    (void)!read(fds[0], &byte, 1);  // until the foreground process has ended
    raise(SIGHUP);
    Print("after\n");
    if (getsid(0) == getpid()) Print("its own session\n");
    if (read(STDIN_FILENO, &byte, 1) == 0) Print("nothing to read\n");
    (void)!write(STDERR_FILENO, "error\n", 6);
    return 0;
  });
  const base::UniqueFd end(fds[0]);
  EXPECT_EQ(terminal.ReadLine(), "before\n");
  EXPECT_EQ(terminal.ReadLine(), "it runs\n");
  EXPECT_EQ(terminal.ExitCode(), 0);
  EXPECT_EQ(terminal.ReadRest(), "");  // stdout and stderr are closed
  EXPECT_EQ(folder.Read("output.log"), "");
  go_on.Reset();
  const auto limit = base::Deadline::After(std::chrono::milliseconds(20'000));
  while (!folder.Read("output.log").ends_with("error\n") && !limit.Expired()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(folder.Read("output.log"), "after\nits own session\nnothing to read\nerror\n");
  struct stat info;
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST_F(DetachTest, AnEarlyExitCodeIsPassedOn) {
  const AtTerminal terminal([](Detached&) {
    Print("no such node\n");
    return 125;
  });
  EXPECT_EQ(terminal.ReadRest(), "no such node\nit has ended\n");
  EXPECT_EQ(terminal.ExitCode(), 125);
}

TEST_F(DetachTest, AFatalSignalIsReportedLikeInAShell) {
  const AtTerminal terminal([](Detached&) { return raise(SIGKILL); });
  EXPECT_EQ(terminal.ExitCode(), 137);
}

TEST_F(DetachTest, CtrlCIsPassedOn) {
  const AtTerminal terminal([](Detached&) {
    signal(SIGINT, [](int) { _exit(42); });
    Print("ready\n");
    for (;;) pause();
    return 0;
  });
  EXPECT_EQ(terminal.ReadLine(), "ready\n");
  kill(terminal.pid(), SIGINT);
  EXPECT_EQ(terminal.ExitCode(), 42);
}

TEST_F(DetachTest, ClosingTheTerminalEndsOnlyTheForegroundProcess) {
  const test::TempFolder folder;
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  base::UniqueFd go_on(fds[1]);
  const AtTerminal terminal([&](Detached& detached) {
    go_on.Reset();
    Print("ready\n");
    char byte = 0;
    (void)!read(fds[0], &byte, 1);
    Print("goes on\n");
    detached.Started(OutputIn(folder.path()));
    return 0;
  });
  const base::UniqueFd end(fds[0]);
  EXPECT_EQ(terminal.ReadLine(), "ready\n");
  kill(terminal.pid(), SIGHUP);
  const int status = terminal.WaitStatus();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
  go_on.Reset();
  EXPECT_EQ(terminal.ReadRest(), "goes on\n");
}

TEST_F(DetachTest, IfTheFileCannotBeCreatedTheOutputIsLost) {
  const AtTerminal terminal([](Detached& detached) {
    detached.Started(OutputIn("/proc/no-such-folder"));
    Print("lost\n");
    return 0;
  });
  EXPECT_EQ(terminal.ExitCode(), 0);
  const std::string said = terminal.ReadRest();
  EXPECT_THAT(said, HasSubstr("/proc/no-such-folder: No such file or directory"));
  EXPECT_THAT(said, HasSubstr("it runs\n"));
  EXPECT_THAT(said, testing::Not(HasSubstr("\nlost")));
}

TEST_F(DetachTest, IsRefusedIfThereAreThreads) {
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  EXPECT_EQ(Detached::Fork().status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace autodist::process
