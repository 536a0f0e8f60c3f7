// Watchdog and agent, started by `attach` of the real program, and their deaths.
#include "agent/life/watchdog.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "agent/life/keepers.h"
#include "base/unix_socket.h"
#include "process/process_tree.h"
#include "rpc/bootstrap_lines.h"
#include "rpc/channel.h"
#include "support/block_sigchld.h"
#include "support/chief_end.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::ChiefEnd;
using test::kLimit;
using testing::HasSubstr;

constexpr char kNonce[] = "n1";

bool IsGone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

class WatchdogTest : public testing::Test {
 protected:
  ~WatchdogTest() override {
    // Processes of a failed test.
    for (const pid_t pid : {LockHolder(lock_.get(), JobLock::kWatchdog).value_or(0), attach_}) {
      if (pid > 0) kill(pid, SIGKILL);
    }
    if (attach_ > 0) waitpid(attach_, nullptr, 0);
    folder_.Remove();
    setenv("HOME", home_before_.c_str(), 1);
  }

  // Starts it with a rank that has a child in another session, and waits until both run. Both
  // ignore SIGTERM.
  void Start(const std::string& lease_ms = "3600000", const std::string& grace_ms = "0") {
    setenv("HOME", home_.path().c_str(), 1);
    auto sockets = base::StreamSocketPair();
    attach_ = fork();
    if (attach_ == 0) {
      dup2(sockets->second.get(), STDIN_FILENO);
      dup2(sockets->second.get(), STDOUT_FILENO);
      execl(AGENT_PROGRAM, AGENT_PROGRAM, "attach", job_.c_str(), "0", kNonce, lease_ms.c_str(),
            grace_ms.c_str(), "start", nullptr);
      _exit(127);
    }
    sockets->second.Reset();
    base::UniqueFd socket = std::move(sockets->first);
    const std::string ready =
        rpc::BeginOfScopeLine(kNonce) + ProcessScope() + rpc::ReadyLine(kNonce);
    for (const char expected : ready) {
      char byte = 0;
      ASSERT_TRUE(base::ReadSome(socket.get(), &byte, 1, base::Deadline::After(kLimit)).ok());
      ASSERT_EQ(byte, expected);
    }
    const std::string greeting(rpc::kGreetingSize, 'k');
    ASSERT_TRUE(base::WriteAll(socket.get(), greeting, base::Deadline::After(kLimit)).ok());
    stub_ = v1::AgentService::NewStub(*rpc::ChannelOver(std::move(socket)));
    StartRank();
    lock_.Reset(open(folder_.lock().c_str(), O_RDWR | O_CLOEXEC));
    const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
    ASSERT_TRUE(watchdog);
    for (const pid_t pid : process::Descendants(*watchdog)) {
      if (process::ParentOf(pid) == *watchdog) agent_ = pid;
    }
    ASSERT_NE(agent_, 0);
  }

  void StartRank() {
    v1::PrepareRequest request;
    request.set_working_directory("/");
    request.set_spool_limit(1 << 20);
    request.mutable_node()->set_data_address("127.0.0.1");
    v1::RankPlan& rank = *request.mutable_node()->add_ranks();
    rank.set_rank(7);
    request.set_replaceable(replaceable_);
    for (const char* word :
         {"sh", "-c", "trap '' TERM; setsid sleep 1000 & echo $!; exec sleep 1000"}) {
      rank.add_argv(word);
    }
    v1::PrepareResponse response;
    grpc::ClientContext context;
    ASSERT_TRUE(stub_->Prepare(&context, request, &response).ok());
    chief_ = std::make_unique<ChiefEnd>(*stub_);
    chief_->Resume();
    chief_->Order(test::Start(), 1);
    rank_ = chief_->Next().rank_started().pid();
    for (uint64_t i = 0; chief_->output().empty(); ++i) {
      chief_->Send(test::Renew(i));
      ASSERT_TRUE(chief_->Next().has_lease_renewed());
    }
    daemon_ = std::stoi(chief_->output());
    ASSERT_FALSE(IsGone(rank_));
    ASSERT_FALSE(IsGone(daemon_));
  }

  // Waits for the end of `attach`, which means that all of the job is gone.
  void AwaitAttach() {
    int status = -1;
    ASSERT_EQ(waitpid(std::exchange(attach_, 0), &status, 0) > 0, true);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(IsGone(rank_));
    EXPECT_TRUE(IsGone(daemon_));
  }

  bool replaceable_ = false;
  const std::string home_before_ = getenv("HOME") ? getenv("HOME") : "/";
  const test::TempFolder home_;
  const std::string job_ = "watchdog-test-" + std::to_string(getpid());
  const JobFolder folder_{job_, "0"};
  base::UniqueFd lock_;
  pid_t attach_ = 0;
  pid_t agent_ = 0;
  pid_t rank_ = 0;
  pid_t daemon_ = 0;
  std::unique_ptr<v1::AgentService::Stub> stub_;
  std::unique_ptr<ChiefEnd> chief_;
};

TEST_F(WatchdogTest, EndsTheProcessesOfAKilledAgent) {
  ASSERT_NO_FATAL_FAILURE(Start());
  kill(agent_, SIGKILL);
  AwaitAttach();
  EXPECT_TRUE(IsGone(agent_));
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
  EXPECT_THAT(
      folder_.ReadEndReason(),
      HasSubstr(
          "its agent was killed by SIGKILL, and all that it had started ended with it, at 2"));
}

TEST_F(WatchdogTest, AProcessThatDoesNotEndCostsLittle) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  const auto sweeps = [&] {
    const std::string status =
        *base::ReadFile("/proc/" + std::to_string(*watchdog) + "/status", 1 << 16);
    constexpr std::string_view kLine = "\nvoluntary_ctxt_switches:";
    return std::stoi(status.substr(status.find(kLine) + kLine.size()));
  };
  // A traced process does not end for its parent before its tracer waits for it.
  ASSERT_EQ(ptrace(PTRACE_SEIZE, daemon_, nullptr, nullptr), 0);
  kill(agent_, SIGKILL);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(daemon_), &ended, WEXITED | WNOWAIT), 0);
  const int before = sweeps();
  (void)poll(nullptr, 0, 1500);
  EXPECT_FALSE(IsGone(*watchdog));
  EXPECT_LT(sweeps() - before, 40);
  ASSERT_EQ(waitpid(daemon_, nullptr, 0), daemon_);
  AwaitAttach();
}

TEST_F(WatchdogTest, AJobEndedByItsChiefHasNoEndReason) {
  ASSERT_NO_FATAL_FAILURE(Start());
  chief_->Order(test::Shutdown(), 2);
  EXPECT_TRUE(chief_->Next().has_rank_exited());
  EXPECT_TRUE(chief_->Next().has_ranks_ended());
  chief_->Send({});
  EXPECT_TRUE(chief_->Finish().ok());
  AwaitAttach();
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
  EXPECT_EQ(folder_.ReadEndReason(), "");
}

TEST_F(WatchdogTest, AnAgentWithoutAChiefEndsWithItsLease) {
  ASSERT_NO_FATAL_FAILURE(Start("1000"));
  AwaitAttach();
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
  EXPECT_THAT(folder_.ReadEndReason(), HasSubstr("received nothing from here for 1 s and ended"));
}

TEST_F(WatchdogTest, RanksThatMayBeReplacedGetNoGraceAfterTheLease) {
  replaceable_ = true;
  ASSERT_NO_FATAL_FAILURE(Start("2000", "3600000"));
  AwaitAttach();
}

TEST_F(WatchdogTest, AStoppedAgentOfRanksThatMayBeReplacedIsKilledWhenItsLeaseExpires) {
  replaceable_ = true;
  ASSERT_NO_FATAL_FAILURE(Start("1500"));
  const auto expires = base::Deadline::After(std::chrono::milliseconds(1500 + 400));
  kill(agent_, SIGSTOP);
  const auto all_gone = [this] { return IsGone(agent_) && IsGone(rank_) && IsGone(daemon_); };
  while (!all_gone() && !expires.Expired()) (void)poll(nullptr, 0, 10);
  EXPECT_TRUE(all_gone());
  AwaitAttach();
}

TEST_F(WatchdogTest, AnAgentWithoutItsWatchdogEndsItsRanks) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  kill(*watchdog, SIGKILL);
  AwaitAttach();
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
  EXPECT_THAT(folder_.ReadEndReason(), HasSubstr("watchdog was killed"));
}

TEST_F(WatchdogTest, AStoppedAgentEndsItsRanksWhenItsWatchdogIsKilled) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  kill(agent_, SIGSTOP);
  kill(*watchdog, SIGKILL);
  AwaitAttach();
  EXPECT_THAT(folder_.ReadEndReason(), HasSubstr("watchdog was killed"));
}

TEST_F(WatchdogTest, SigtermEndsAnAgentWithoutAChiefInCharge) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  kill(*watchdog, SIGTERM);  // ignored: a chief is in charge
  chief_->Send(test::Renew(0));
  EXPECT_TRUE(chief_->Next().has_lease_renewed());
  EXPECT_FALSE(IsGone(rank_));
  kill(attach_, SIGKILL);
  waitpid(std::exchange(attach_, 0), nullptr, 0);
  AwaitLock(lock_.get(), JobLock::kChiefInCharge);
  // The session has ended.
  kill(*watchdog, SIGTERM);
  AwaitLock(lock_.get(), JobLock::kWatchdog);
  EXPECT_TRUE(IsGone(rank_));
  EXPECT_TRUE(IsGone(daemon_));
  EXPECT_THAT(folder_.ReadEndReason(), HasSubstr("its agent was ended by `autodist clean`"));
}

TEST_F(WatchdogTest, SigtermEndsAnAgentWhoseChiefHasNotAcknowledgedTheEnd) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  chief_->Order(test::Shutdown(), 2);
  EXPECT_TRUE(chief_->Next().has_rank_exited());
  EXPECT_TRUE(chief_->Next().has_ranks_ended());
  kill(attach_, SIGKILL);  // without a message
  waitpid(std::exchange(attach_, 0), nullptr, 0);
  AwaitLock(lock_.get(), JobLock::kChiefInCharge);
  kill(*watchdog, SIGTERM);
  AwaitLock(lock_.get(), JobLock::kWatchdog);
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
}

TEST_F(WatchdogTest, EndsTheProcessesOfAStoppedAgentWhenItsLeaseExpires) {
  ASSERT_NO_FATAL_FAILURE(Start("1000"));
  kill(agent_, SIGSTOP);
  AwaitAttach();
  EXPECT_TRUE(IsGone(agent_));
  EXPECT_FALSE(std::filesystem::exists(folder_.path()));
  EXPECT_THAT(
      folder_.ReadEndReason(),
      HasSubstr("its agent was stopped or hung, so it was killed with all that it had started"));
}

TEST_F(WatchdogTest, SigtermEndsAStoppedAgentWithoutAChiefInCharge) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const auto watchdog = LockHolder(lock_.get(), JobLock::kWatchdog);
  ASSERT_TRUE(watchdog);
  kill(agent_, SIGSTOP);
  kill(attach_, SIGKILL);
  waitpid(std::exchange(attach_, 0), nullptr, 0);
  EXPECT_FALSE(LockHolder(lock_.get(), JobLock::kChiefInCharge));  // although it was not notified
  kill(*watchdog, SIGTERM);
  AwaitLock(lock_.get(), JobLock::kWatchdog);
  EXPECT_TRUE(IsGone(rank_));
  EXPECT_TRUE(IsGone(daemon_));
  EXPECT_THAT(folder_.ReadEndReason(), HasSubstr("its agent was ended by `autodist clean`"));
}

TEST_F(WatchdogTest, AChiefIsInChargeUntilItCloses) {
  ASSERT_NO_FATAL_FAILURE(Start());
  EXPECT_EQ(LockHolder(lock_.get(), JobLock::kChiefInCharge), attach_);
  kill(agent_, SIGSTOP);  // otherwise `attach` would end
  chief_.reset();
  stub_.reset();
  AwaitLock(lock_.get(), JobLock::kChiefInCharge);
  EXPECT_EQ(kill(attach_, 0), 0);
  kill(agent_, SIGKILL);
  AwaitLock(lock_.get(), JobLock::kWatchdog);
}

TEST_F(WatchdogTest, AListenerInAFolderThatIsNotPrivateIsNotOurAgent) {
  ASSERT_TRUE(folder_.Make().ok());
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  const base::UniqueFd impostor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = base::UnixAddress(folder_.chief_socket());
  ASSERT_EQ(bind(impostor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(impostor.get(), 1), 0);
  auto output = base::Pipe();
  const std::string scope = ProcessScope();
  const pid_t attach = fork();
  if (attach == 0) {
    dup2(output->second.get(), STDOUT_FILENO);
    execl(AGENT_PROGRAM, AGENT_PROGRAM, "attach", job_.c_str(), "0", kNonce, "1000", "0", "resume",
          scope.c_str(), nullptr);
    _exit(127);
  }
  output->second.Reset();
  std::string said(64, '\0');
  const auto got =
      base::ReadSome(output->first.get(), said.data(), said.size(), base::Deadline::After(kLimit));
  kill(attach, SIGKILL);
  waitpid(attach, nullptr, 0);
  ASSERT_TRUE(got.ok());
  EXPECT_THAT(said.substr(0, *got), HasSubstr(rpc::GoneLine(kNonce)));
}

}  // namespace
}  // namespace autodist::agent
