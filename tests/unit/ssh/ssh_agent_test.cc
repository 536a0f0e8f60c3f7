#include "ssh/ssh_agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "base/fd.h"
#include "ssh/ssh_wire.h"
#include "support/shell.h"
#include "support/ssh_agent.h"
#include "support/ssh_signature.h"
#include "support/temp_folder.h"

namespace autodist::ssh {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SshAgentTest : public testing::Test {
 protected:
  std::string Generate(const std::string& name, const std::string& options) {
    std::string file = folder_.path() + "/" + name;
    test::Shell("ssh-keygen -q -N '' -C " + name + " " + options + " -f " + file);
    agent_.Add(file);
    return file;
  }
  static std::string PublicBlobIn(const std::string& file) {
    return test::Shell("cut -d' ' -f2 " + file + " | base64 -d");
  }
  const test::TempFolder folder_;
  const test::RealAgent agent_{folder_.path()};
};

TEST_F(SshAgentTest, ListsItsKeysInOrder) {
  const SshAgent agent(agent_.socket());
  ASSERT_TRUE(agent.Keys().ok()) << agent.Keys().status();
  EXPECT_THAT(*agent.Keys(), IsEmpty());
  const std::string first = Generate("first", "-t ed25519");
  const std::string second = Generate("second", "-t ecdsa");
  const auto keys = agent.Keys();
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].blob, PublicBlobIn(first + ".pub"));
  EXPECT_EQ((*keys)[0].comment, "first");
  EXPECT_EQ((*keys)[1].blob, PublicBlobIn(second + ".pub"));
}

TEST_F(SshAgentTest, SignsWithTheRequestedAlgorithm) {
  const std::pair<const char*, std::vector<std::string>> kinds[] = {
      {"-t ed25519", {"ssh-ed25519"}},
      {"-t rsa -b 2048", {"rsa-sha2-512", "rsa-sha2-256"}},
      {"-t ecdsa -b 256", {"ecdsa-sha2-nistp256"}},
      {"-t ecdsa -b 521", {"ecdsa-sha2-nistp521"}}};
  int number = 0;
  for (const auto& [options, algorithms] : kinds) {
    const std::string file = Generate("key" + std::to_string(number++), options);
    const std::string blob = PublicBlobIn(file + ".pub");
    const AgentIdentity identity(agent_.socket(), blob, "it");
    EXPECT_TRUE(identity.slow());
    for (const std::string& algorithm : algorithms) {
      const std::string request = test::LoginRequest(algorithm);
      const auto signature = identity.SignRequest(request, {});
      ASSERT_TRUE(signature.ok()) << signature.status();
      EXPECT_TRUE(test::Verifies(blob, algorithm, request, *signature)) << algorithm;
    }
  }
}

TEST_F(SshAgentTest, SignsConcurrently) {
  constexpr size_t kThreads = 50;
  const std::string blob = PublicBlobIn(Generate("key", "-t ed25519") + ".pub");
  const AgentIdentity identity(agent_.socket(), blob, "it");
  const std::string request = test::LoginRequest("ssh-ed25519");
  std::vector<Result<std::string>> signatures(kThreads, Status(StatusCode::kInternal, ""));
  {
    std::vector<std::jthread> threads;
    for (auto& signature : signatures) {
      threads.emplace_back([&] { signature = identity.SignRequest(request, {}); });
    }
  }
  for (const auto& signature : signatures) {
    ASSERT_TRUE(signature.ok()) << signature.status();
    EXPECT_TRUE(test::Verifies(blob, "ssh-ed25519", request, *signature));
  }
}

TEST_F(SshAgentTest, RefusalsHaveACauseAndARemedy) {
  const std::string blob = PublicBlobIn(Generate("key", "-t ed25519") + ".pub");
  const auto other = SshAgent(agent_.socket()).Sign("not a key", "ssh-ed25519", "data");
  EXPECT_EQ(other.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(Message(other.status()), HasSubstr(agent_.socket() + ", asked to sign: it refused"));
  EXPECT_NE(Remedy(other.status()), "");
  // An algorithm that the key does not support.
  const auto wrong = SshAgent(agent_.socket()).Sign(blob, "ssh-rsa", "data");
  EXPECT_EQ(wrong.status().code(), StatusCode::kUnimplemented);
}

TEST_F(SshAgentTest, MissingAgents) {
  const auto none = SshAgent(folder_.path() + "/none").Keys();
  EXPECT_THAT(Message(none.status()), HasSubstr("connect: No such file or directory"));
  EXPECT_NE(Remedy(none.status()), "");
  const auto file = SshAgent(folder_.Write("file", "")).Keys();
  EXPECT_THAT(Message(file.status()), HasSubstr("connect: Connection refused"));
  const auto longest = SshAgent(std::string(200, 'x')).Keys();
  EXPECT_THAT(Message(longest.status()), HasSubstr("too long"));
}

// A listener that gives every client the same answer.
class FalseAgent {
 public:
  FalseAgent(const std::string& path, std::string answer) : answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_.get(), 5), 0);
    thread_ = std::thread([this] {
      for (;;) {
        const base::UniqueFd caller(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!caller.valid()) return;
        (void)send(caller.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      }
    });
  }
  FalseAgent(const FalseAgent&) = delete;
  FalseAgent& operator=(const FalseAgent&) = delete;
  ~FalseAgent() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  const std::string answer_;
  base::UniqueFd listener_;
  std::thread thread_;
};

class FalseAgentTest : public testing::Test {
 protected:
  FalseAgentTest() { signal(SIGPIPE, SIG_IGN); }  // as autodist does: agents close connections
};

std::string Framed(const std::string& body) {
  std::string framed;
  AppendString(framed, body);
  return framed;
}

TEST_F(FalseAgentTest, ASilentAgentTimesOut) {
  const test::TempFolder folder;
  const std::string path = folder.path() + "/agent";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const base::UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listener.get(), 5), 0);
  const SshAgent hasty(path, std::chrono::milliseconds(100));
  const auto late = hasty.Sign("blob", "ssh-ed25519", "data");
  EXPECT_EQ(late.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Message(late.status()), HasSubstr("asked to sign: no answer within 0.1 s"));

  std::stop_source stop;
  stop.request_stop();
  const auto stopped = SshAgent(path).Sign("blob", "ssh-ed25519", "data", stop.get_token());
  EXPECT_EQ(stopped.status().code(), StatusCode::kUnavailable);
}

TEST_F(FalseAgentTest, InvalidAnswersAreRefused) {
  const test::TempFolder folder;
  const std::string identities(1, '\x0C');
  const std::string signature(1, '\x0E');
  const std::string one_of_many("\x7F\xFF\xFF\xFF\x00\x00\x00\x01k\x00\x00\x00\x00", 13);
  const std::string answers[] = {
      "",
      "short",
      "HTTP/1.1 400 Bad Request\r\n\r\n",
      Framed(""),
      Framed(identities),
      Framed(signature),
      Framed(std::string(1, '\x05')),
      Framed(identities + one_of_many),
      Framed(signature + std::string("\xFF\xFF\xFF\xFF", 4)),
      Framed(signature + Framed("ssh-ed25519")),
  };
  int number = 0;
  for (const std::string& answer : answers) {
    const std::string path = folder.path() + "/" + std::to_string(number++);
    const FalseAgent listening(path, answer);
    const auto keys = SshAgent(path).Keys();
    EXPECT_FALSE(keys.ok()) << number;
    EXPECT_THAT(Message(keys.status()), HasSubstr("ssh-agent at " + path));
    EXPECT_FALSE(SshAgent(path).Sign("blob", "ssh-ed25519", "data").ok()) << number;
  }
}

}  // namespace
}  // namespace autodist::ssh
