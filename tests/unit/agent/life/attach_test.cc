// `attach` between a simulated chief and agent.
#include "agent/life/attach.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "agent/life/job_folder.h"
#include "agent/life/keepers.h"
#include "base/unix_socket.h"
#include "rpc/bootstrap_lines.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using test::kLimit;

constexpr size_t kPageSize = 4096;
constexpr char kAttachNonce[] = "n1";

class AttachTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(folder_.Make().ok());
    const base::UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = base::UnixAddress(folder_.chief_socket());
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    base::FdPair input = *base::Pipe();
    base::FdPair output = *base::Pipe();
    pid_ = fork();
    if (pid_ == 0) {
      dup2(input.first.get(), STDIN_FILENO);
      dup2(output.second.get(), STDOUT_FILENO);
      execl(AGENT_PROGRAM, AGENT_PROGRAM, "attach", job_.c_str(), "0", kAttachNonce, "1000", "0",
            "resume", nullptr);
      _exit(127);
    }
    to_attach_ = std::move(input.second);
    from_attach_ = std::move(output.first);
    agent_.Reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(agent_.valid());
    const std::string ready =
        rpc::BeginOfScopeLine(kAttachNonce) + ProcessScope() + rpc::ReadyLine(kAttachNonce);
    ASSERT_EQ(Read(from_attach_, ready.size()), ready);
  }
  ~AttachTest() override {
    if (pid_ > 0) kill(pid_, SIGKILL);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    folder_.Remove();
  }

  // Returns this many bytes, or those received within the limit.
  static std::string Read(const base::UniqueFd& from, size_t size) {
    std::string text(size, '\0');
    size_t end = 0;
    while (end < size) {
      const auto got =
          base::ReadSome(from.get(), text.data() + end, size - end, Deadline::After(kLimit));
      if (!got.ok() || *got == 0) break;
      end += *got;
    }
    text.resize(end);
    return text;
  }
  static bool Write(const base::UniqueFd& to, const std::string& text) {
    return base::WriteAll(to.get(), text, Deadline::After(kLimit)).ok();
  }

  // Waits until the pipe has no room for another page.
  void AwaitFullOutput() const {
    const int capacity = fcntl(from_attach_.get(), F_GETPIPE_SZ);
    const Deadline limit = Deadline::After(kLimit);
    for (int size = 0; size < capacity && !limit.Expired();) {
      ASSERT_EQ(ioctl(from_attach_.get(), FIONREAD, &size), 0);
      std::this_thread::yield();
    }
  }

  const std::string job_ = "attach-test-" + std::to_string(getpid());
  const JobFolder folder_{job_, "0"};
  pid_t pid_ = 0;
  base::UniqueFd to_attach_;
  base::UniqueFd from_attach_;
  base::UniqueFd agent_;
};

TEST_F(AttachTest, MessagesOfASlowlyReadingChiefArePassedOn) {
  constexpr size_t kFarTooMuch = 8 << 20;
  std::jthread flood([&] { Write(agent_, std::string(kFarTooMuch, 'x')); });
  AwaitFullOutput();
  Read(from_attach_, kPageSize);  // makes room, but not for all that `attach` has
  AwaitFullOutput();
  ASSERT_TRUE(Write(to_attach_, "renewal"));
  EXPECT_EQ(Read(agent_, 7), "renewal");
  EXPECT_EQ(Read(from_attach_, kFarTooMuch - kPageSize).size(), kFarTooMuch - kPageSize);
}

TEST_F(AttachTest, EndsAfterTheAgentsLastBytes) {
  ASSERT_TRUE(Write(agent_, "the last"));
  agent_.Reset();
  EXPECT_EQ(Read(from_attach_, 8), "the last");
  int status = -1;
  EXPECT_EQ(waitpid(std::exchange(pid_, 0), &status, 0) > 0, true);
  EXPECT_EQ(status, 0);
}

TEST_F(AttachTest, TheAgentIsNotifiedWhenTheChiefDisconnectsAndContinues) {
  to_attach_.Reset();
  EXPECT_EQ(Read(agent_, 1), "");
  ASSERT_TRUE(Write(agent_, "still here"));
  EXPECT_EQ(Read(from_attach_, 10), "still here");
}

}  // namespace
}  // namespace autodist::agent
