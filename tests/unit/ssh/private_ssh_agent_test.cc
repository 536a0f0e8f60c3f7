
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>

#include "base/deadline.h"
#include "ssh/ssh_agent.h"
#include "support/askpass.h"
#include "support/shell.h"
#include "support/ssh_signature.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using base::Deadline;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::milliseconds kAgentLimit{20'000};

class PrivateSshAgentTest : public testing::Test {
 protected:
  std::string Generate(const std::string& options = "-t ed25519 -a 1") {
    std::string file = folder_.path() + "/key" + std::to_string(++keys_);
    test::Shell("ssh-keygen -q -N 'open sesame' -C '' " + options + " -f " + file);
    return file;
  }
  // Whether the agent has exited, which removes its socket.
  static bool AwaitEnd(const std::string& socket) {
    const Deadline deadline = Deadline::After(kAgentLimit);
    while (std::filesystem::exists(socket) && !deadline.Expired()) usleep(1000);
    return !std::filesystem::exists(socket);
  }
  // Sets PATH to the folder.
  Status StartWithProgramsOfTheFolder() const {
    const std::string path = getenv("PATH");
    setenv("PATH", folder_.path().c_str(), 1);
    const auto agent = PrivateSshAgent::Start();
    setenv("PATH", path.c_str(), 1);
    return agent.status();
  }

  const test::TempFolder folder_;
  int keys_ = 0;
};

TEST_F(PrivateSshAgentTest, SignsWithKeysOfEachFormat) {
  const auto agent = PrivateSshAgent::Start();
  ASSERT_TRUE(agent.ok()) << agent.status();
  const std::pair<const char*, const char*> kinds[] = {
      {"-t ed25519 -a 1", "ssh-ed25519"},
      {"-t ed25519 -a 1 -Z chacha20-poly1305@openssh.com", "ssh-ed25519"},
      {"-t rsa -b 2048 -m PEM", "rsa-sha2-512"},
      {"-t ecdsa -m PKCS8", "ecdsa-sha2-nistp256"}};
  for (const auto& [options, algorithm] : kinds) {
    const test::Askpass askpass({"open sesame"});
    const std::string file = Generate(options);
    ASSERT_EQ(agent->Add(file), OkStatus());
    EXPECT_THAT(askpass.Asked(), ElementsAre(HasSubstr("passphrase for " + file)));
    const std::string blob = test::Shell("cut -d' ' -f2 " + file + ".pub | base64 -d");
    const std::string request = test::LoginRequest(algorithm);
    const auto signature = SshAgent(agent->socket()).Sign(blob, algorithm, request);
    ASSERT_TRUE(signature.ok()) << signature.status();
    EXPECT_TRUE(test::Verifies(blob, algorithm, request, *signature));
  }
}

TEST_F(PrivateSshAgentTest, AsksAgainUntilThePassphraseIsRightOrEmpty) {
  const auto agent = PrivateSshAgent::Start();
  ASSERT_TRUE(agent.ok()) << agent.status();
  const std::string file = Generate();
  {
    const test::Askpass askpass({"wrong", "wrong again", "open sesame"});
    EXPECT_EQ(agent->Add(file), OkStatus());
    EXPECT_EQ(askpass.Asked().size(), 3u);
  }
  const test::Askpass askpass({"wrong"});
  const Status status = agent->Add(Generate());
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("no correct passphrase was given"));
  EXPECT_THAT(Remedy(status), HasSubstr("run ssh-add " + folder_.path() + "/key2 first"));
  EXPECT_EQ(askpass.Asked().size(), 2u);
}

TEST_F(PrivateSshAgentTest, EndsWithItsOwner) {
  constexpr int kTimes = 20;  // also before any use
  for (int i = 0; i < kTimes; ++i) {
    std::string socket;
    {
      const auto agent = PrivateSshAgent::Start();
      ASSERT_TRUE(agent.ok()) << agent.status();
      socket = agent->socket();
      EXPECT_TRUE(std::filesystem::exists(socket));
    }
    ASSERT_TRUE(AwaitEnd(socket)) << i;
    ASSERT_TRUE(AwaitEnd(std::filesystem::path(socket).parent_path())) << i;
  }
}

// Like a job that goes into the background.
TEST_F(PrivateSshAgentTest, SurvivesAForkOfItsOwnerAndEndsWhenTheChildIsKilled) {
  auto report = base::Pipe();
  auto owner = base::Pipe();
  const pid_t child = fork();
  if (child == 0) {
    const auto agent = PrivateSshAgent::Start();
    const std::string socket = agent.ok() ? agent->socket() : "";
    (void)base::WriteAll(report->second.get(), socket, Deadline::Never());
    report->second.Reset();
    owner->second.Reset();
    if (fork() == 0) {
      char byte = 0;
      (void)!read(owner->first.get(), &byte, 1);
      kill(getpid(), SIGKILL);
    }
    _exit(0);
  }
  report->second.Reset();
  std::string socket(256, '\0');
  socket.resize(static_cast<size_t>(
      std::max<ssize_t>(0, read(report->first.get(), socket.data(), socket.size()))));
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(SshAgent(socket).Keys().ok());
  owner->second.Reset();
  EXPECT_TRUE(AwaitEnd(socket));
}

TEST_F(PrivateSshAgentTest, WithoutOpensshTheRemedyIsToInstallIt) {
  const Status status = StartWithProgramsOfTheFolder();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("'ssh-agent' is not in PATH"));
  EXPECT_THAT(Remedy(status), HasSubstr("install OpenSSH's client"));
}

TEST_F(PrivateSshAgentTest, ReportsWhyTheAgentDoesNotStart) {
  // Without the shell that it runs.
  test::Shell("ln -s \"$(command -v ssh-agent)\" " + folder_.path());
  const Status status = StartWithProgramsOfTheFolder();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("does not start: sh: No such file or directory"));
  EXPECT_THAT(Remedy(status), HasSubstr("ssh-agent true"));
}

TEST_F(PrivateSshAgentTest, AnUnreadableFileIsNotAWrongPassphrase) {
  const auto agent = PrivateSshAgent::Start();
  ASSERT_TRUE(agent.ok()) << agent.status();
  const std::string file = Generate();
  test::Shell("sed -i 4d " + file);
  const Status status = agent->Add(file);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), HasSubstr("OpenSSH cannot read it: Error loading key"));
  EXPECT_THAT(Remedy(status), HasSubstr("ssh-keygen -p -f " + file));
}

// Otherwise it would continue to prompt at the terminal, which other programs use by then.
TEST_F(PrivateSshAgentTest, ThePromptEndsWithTheProcessThatWaitsForIt) {
  const std::string file = Generate();
  const std::string answer = folder_.path() + "/answer";
  const std::string asks = folder_.path() + "/asks";
  ASSERT_EQ(mkfifo(answer.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(asks.c_str(), 0600), 0);
  const test::Askpass askpass({});
  const std::string script = folder_.Write(
      "script", "#!/bin/sh\necho $PPID > " + asks + "\nread -r it < " + answer + "\n");
  chmod(script.c_str(), 0700);
  setenv("SSH_ASKPASS", script.c_str(), 1);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t child = fork();
  if (child == 0) {
    const auto agent = PrivateSshAgent::Start();
    _exit(agent.ok() && agent->Add(file).ok() ? 0 : 1);
  }
  const pid_t asking = std::stoi(test::Shell("timeout 20 cat " + asks));
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  const Deadline deadline = Deadline::After(kAgentLimit);
  int status = 0;
  while (waitpid(asking, &status, WNOHANG) == 0 && !deadline.Expired()) usleep(1000);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  test::Shell("timeout 20 sh -c ': > " + answer + "'");
}

TEST_F(PrivateSshAgentTest, WithoutATerminalThereIsNoPrompt) {
  const std::string file = Generate();
  const pid_t child = fork();
  if (child == 0) {
    setsid();  // leaves the terminal, if there is one
    const auto agent = PrivateSshAgent::Start();
    _exit(agent.ok() && agent->Add(file).code() == StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A background process that prompts at the terminal is stopped with its process group.
TEST_F(PrivateSshAgentTest, InTheBackgroundThereIsNoPromptAndNoStop) {
  const std::string file = Generate();
  int master = -1;
  const pid_t shell = forkpty(&master, nullptr, nullptr, nullptr);
  if (shell == 0) {
    const pid_t job = fork();
    if (job == 0) {
      setpgid(0, 0);
      const auto agent = PrivateSshAgent::Start();
      _exit(agent.ok() && agent->Add(file).code() == StatusCode::kFailedPrecondition ? 0 : 1);
    }
    int status = 0;
    waitpid(job, &status, WUNTRACED);
    if (WIFSTOPPED(status)) kill(-job, SIGKILL);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  const base::UniqueFd terminal(master);
  int status = 0;
  ASSERT_EQ(waitpid(shell, &status, 0), shell);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// A child process that decrypts a key at its own terminal, where the test types.
TEST_F(PrivateSshAgentTest, AsksAtTheTerminalWithoutEchoingTheAnswer) {
  const std::string file = Generate();
  int master = -1;
  const pid_t child = forkpty(&master, nullptr, nullptr, nullptr);
  if (child == 0) {
    const auto agent = PrivateSshAgent::Start();
    _exit(agent.ok() && agent->Add(file).ok() ? 0 : 1);
  }
  const base::UniqueFd terminal(master);
  const Deadline deadline = Deadline::After(kAgentLimit);
  std::string shown;
  for (char byte = 0; !shown.ends_with("passphrase for " + file + ": "); shown += byte) {
    const auto got = base::ReadSome(terminal.get(), &byte, 1, deadline);
    ASSERT_TRUE(got.ok() && *got == 1) << shown;
  }
  EXPECT_TRUE(base::WriteAll(terminal.get(), "open sesame\n", deadline).ok());
  for (char byte = 0; base::ReadSome(terminal.get(), &byte, 1, deadline).value_or(0) == 1;) {
    shown += byte;
  }
  EXPECT_THAT(shown, Not(HasSubstr("sesame")));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << shown;
}

// Exits with whether input is echoed again when the interrupt arrives.
void ExitWithWhetherTheTerminalIsAsItWas(int) {
  termios mode{};
  tcgetattr(STDIN_FILENO, &mode);
  _exit((mode.c_lflag & ECHO) != 0 ? 0 : 1);
}

TEST_F(PrivateSshAgentTest, AnInterruptEndsThePromptFirst) {
  const std::string file = Generate();
  int master = -1;
  const pid_t child = forkpty(&master, nullptr, nullptr, nullptr);
  if (child == 0) {
    signal(SIGINT, ExitWithWhetherTheTerminalIsAsItWas);
    const auto agent = PrivateSshAgent::Start();
    if (agent.ok()) (void)agent->Add(file);
    _exit(2);
  }
  const base::UniqueFd terminal(master);
  const Deadline deadline = Deadline::After(kAgentLimit);
  std::string shown;
  for (char byte = 0; !shown.ends_with("passphrase for " + file + ": "); shown += byte) {
    const auto got = base::ReadSome(terminal.get(), &byte, 1, deadline);
    ASSERT_TRUE(got.ok() && *got == 1) << shown;
  }
  // Repeated, because ssh-add misses one that comes just before it reads.
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0 && !deadline.Expired()) {
    EXPECT_TRUE(base::WriteAll(terminal.get(), "\x03", deadline).ok());
    usleep(20'000);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace autodist::ssh
