#include "transport/private_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>

#include "base/deadline.h"
#include "support/askpass.h"
#include "support/shell.h"
#include "support/ssh_signature.h"
#include "support/temp_folder.h"
#include "transport/ssh_agent.h"

namespace autodist::transport {
namespace {

using base::Deadline;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::milliseconds kAgentLimit{20'000};

class PrivateAgentTest : public testing::Test {
 protected:
  std::string Generate(const std::string& options = "-t ed25519 -a 1") {
    std::string file = folder_.path() + "/key" + std::to_string(++keys_);
    test::Shell("ssh-keygen -q -N 'open sesame' -C '' " + options + " -f " + file);
    return file;
  }
  // Whether the agent's socket is gone, which it removes when it ends.
  static bool AwaitEnd(const std::string& socket) {
    const Deadline deadline = Deadline::After(kAgentLimit);
    while (std::filesystem::exists(socket) && !deadline.Expired()) usleep(1000);
    return !std::filesystem::exists(socket);
  }

  const test::TempFolder folder_;
  int keys_ = 0;
};

TEST_F(PrivateAgentTest, SignsWithKeysOfEachFormat) {
  const auto agent = PrivateAgent::Start();
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

TEST_F(PrivateAgentTest, AsksAgainUntilThePassphraseFitsOrIsEmpty) {
  const auto agent = PrivateAgent::Start();
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
  EXPECT_THAT(Message(status), HasSubstr("no passphrase was given that fits"));
  EXPECT_THAT(Remedy(status), HasSubstr("run ssh-add " + folder_.path() + "/key2 first"));
  EXPECT_EQ(askpass.Asked().size(), 2u);
}

TEST_F(PrivateAgentTest, EndsWithItsOwner) {
  constexpr int kTimes = 20;  // also before it has done anything
  for (int i = 0; i < kTimes; ++i) {
    std::string socket;
    {
      const auto agent = PrivateAgent::Start();
      ASSERT_TRUE(agent.ok()) << agent.status();
      socket = agent->socket();
      EXPECT_TRUE(std::filesystem::exists(socket));
    }
    ASSERT_TRUE(AwaitEnd(socket)) << i;
    ASSERT_TRUE(AwaitEnd(std::filesystem::path(socket).parent_path())) << i;
  }
}

// As a job does that goes into the background.
TEST_F(PrivateAgentTest, LivesOnWithWhatItsOwnerForksAndEndsWhenThatIsKilled) {
  auto report = base::Pipe();
  auto owner = base::Pipe();
  const pid_t child = fork();
  if (child == 0) {
    const auto agent = PrivateAgent::Start();
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

TEST_F(PrivateAgentTest, WithoutOpensshTheRemedyIsToInstallIt) {
  const std::string path = getenv("PATH");
  setenv("PATH", folder_.path().c_str(), 1);
  const auto agent = PrivateAgent::Start();
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(Message(agent.status()), HasSubstr("'ssh-agent' is not in PATH"));
  EXPECT_THAT(Remedy(agent.status()), HasSubstr("install OpenSSH's client"));
}

TEST_F(PrivateAgentTest, WithoutATerminalNothingIsAsked) {
  const std::string file = Generate();
  const pid_t child = fork();
  if (child == 0) {
    setsid();  // leaves the terminal, if there is one
    const auto agent = PrivateAgent::Start();
    _exit(agent.ok() && agent->Add(file).code() == StatusCode::kFailedPrecondition ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child process that has a key decrypted on a terminal of its own, at whose other end we type.
TEST_F(PrivateAgentTest, AsksOnTheTerminalWithoutShowingTheAnswer) {
  const std::string file = Generate();
  int master = -1;
  const pid_t child = forkpty(&master, nullptr, nullptr, nullptr);
  if (child == 0) {
    const auto agent = PrivateAgent::Start();
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

}  // namespace
}  // namespace autodist::transport
