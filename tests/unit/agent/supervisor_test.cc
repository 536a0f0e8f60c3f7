#include "supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <condition_variable>

#include "process/process_tree.h"
#include "support/block_sigchld.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr seconds kLimit{60};

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    SupervisorEvents events;
    events.started = [this](uint32_t rank, pid_t pid) { Change([&] { pids_[rank] = pid; }); };
    events.output = [this](uint32_t rank, Stream stream, uint64_t offset, std::string data) {
      Change([&] {
        std::string& text = output_[{rank, stream}];
        EXPECT_EQ(offset, text.size());
        EXPECT_FALSE(exits_.contains(rank)) << "output after the end";
        text += data;
      });
      if (acknowledge_) supervisor_->Acknowledge(rank, stream, offset + data.size());
    };
    events.exited = [this](const RankExit& exit) { Change([&] { exits_[exit.rank] = exit; }); };
    events.ended = [this] { Change([&] { ended_ = true; }); };
    auto supervisor = Supervisor::Create(std::move(events));
    ASSERT_TRUE(supervisor.ok());
    supervisor_ = std::move(*supervisor);
  }

  template <typename Action>
  void Change(Action action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }

  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLimit, condition);
  }

  static RankCommand Rank(uint32_t rank, const std::string& script) {
    RankCommand command{rank, {}};
    command.spawn.argv = {"sh", "-c", script};
    command.spawn.environment = {"PATH=/usr/bin:/bin"};
    command.spawn.working_directory = "/";
    return command;
  }

  std::string Text(uint32_t rank, Stream stream = Stream::kStdout) {
    const std::lock_guard lock(mutex_);
    return output_[{rank, stream}];
  }

  std::atomic<bool> acknowledge_ = true;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, pid_t> pids_;
  std::map<std::pair<uint32_t, Stream>, std::string> output_;
  std::map<uint32_t, RankExit> exits_;
  bool ended_ = false;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, TellsOutputThenTheEnd) {
  supervisor_->Start({Rank(0, "echo out; echo err >&2; exit 3"), Rank(1, "kill -SEGV $$")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 2; }));
  EXPECT_EQ(Text(0), "out\n");
  EXPECT_EQ(Text(0, Stream::kStderr), "err\n");
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 3);
  EXPECT_EQ(exits_[0].pid, pids_[0]);
  EXPECT_EQ(WTERMSIG(exits_[1].wait_status), SIGSEGV);
}

TEST_F(SupervisorTest, AProgramThatCannotStartIsAnEnd) {
  RankCommand command = Rank(0, "");
  command.spawn.argv = {"/no/such/program"};
  supervisor_->Start({command});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(exits_[0].pid, 0);
  EXPECT_EQ(exits_[0].start_failure.code(), StatusCode::kNotFound);
}

TEST_F(SupervisorTest, StopSendsTermOnce) {
  supervisor_->Start({Rank(0,
                           "n=0; trap 'n=$((n+1)); echo $n; [ $n = 2 ] && exit 9' TERM; echo up; "
                           "while :; do sleep 0.01; done")});
  ASSERT_TRUE(Await([&] { return output_[{0, Stream::kStdout}] == "up\n"; }));
  supervisor_->Stop(seconds(60));
  ASSERT_TRUE(Await([&] { return output_[{0, Stream::kStdout}] == "up\n1\n"; }));
  supervisor_->Stop(milliseconds(200));  // shortens the grace period, no second SIGTERM
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGKILL);
  EXPECT_EQ(Text(0), "up\n1\n");
}

TEST_F(SupervisorTest, StopReachesTheWholeProcessGroup) {
  supervisor_->Start({Rank(0, "sleep 1000 & echo up; wait")});
  ASSERT_TRUE(Await([&] { return !output_[{0, Stream::kStdout}].empty(); }));
  supervisor_->Stop(seconds(60));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGTERM);
}

TEST_F(SupervisorTest, WithoutGraceRanksAreKilledAtOnce) {
  supervisor_->Start({Rank(0, "trap '' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_TRUE(Await([&] { return !output_[{0, Stream::kStdout}].empty(); }));
  supervisor_->Stop(milliseconds(0));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGKILL);
}

TEST_F(SupervisorTest, ShutdownLeavesNothingNotEvenDaemons) {
  supervisor_->Start({Rank(0,
                           "setsid sh -c 'trap \"\" TERM; (setsid sleep 1000 &) ; sleep 1000' & "
                           "setsid setsid sleep 1000 & echo up; exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_FALSE(process::Descendants(getpid()).empty());
  supervisor_->Shutdown(milliseconds(100));  // one of them ignores SIGTERM
  ASSERT_TRUE(Await([&] { return ended_; }));
  EXPECT_TRUE(process::Descendants(getpid()).empty());
}

TEST_F(SupervisorTest, AReaderThatDoesNotKeepUpHoldsTheRankBack) {
  acknowledge_ = false;
  supervisor_->Start({Rank(0, "yes | head -c 2000000; echo done >&2")});
  ASSERT_TRUE(Await([&] { return output_[{0, Stream::kStdout}].size() >= Supervisor::kWindow; }));
  EXPECT_EQ(Text(0, Stream::kStderr), "");
  // One read beyond the window at most.
  EXPECT_LT(Text(0).size(), Supervisor::kWindow + 65536 + 1);
  acknowledge_ = true;
  supervisor_->Acknowledge(0, Stream::kStdout, Text(0).size());
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(Text(0).size(), 2'000'000u);
  EXPECT_EQ(Text(0, Stream::kStderr), "done\n");
}

TEST_F(SupervisorTest, RunGivesTheEndOfAnotherChild) {
  process::SpawnRequest request = Rank(0, "exit 5").spawn;
  EXPECT_EQ(WEXITSTATUS(*supervisor_->Run(request).ended.get()), 5);
  request.argv = {"no-such-program"};
  EXPECT_EQ(supervisor_->Run(request).ended.get().status().code(), StatusCode::kNotFound);
}

TEST_F(SupervisorTest, KillRunEndsOneOfSeveralChildren) {
  Supervisor::Running killed = supervisor_->Run(Rank(0, "sleep 1000").spawn);
  Supervisor::Running other = supervisor_->Run(Rank(0, "sleep 1000").spawn);
  supervisor_->KillRun(killed.id);
  EXPECT_EQ(WTERMSIG(*killed.ended.get()), SIGKILL);
  EXPECT_EQ(WEXITSTATUS(*supervisor_->Run(Rank(0, "exit 5").spawn).ended.get()), 5);
  EXPECT_EQ(other.ended.wait_for(milliseconds(0)), std::future_status::timeout);
  supervisor_->KillRun(other.id);
  EXPECT_EQ(WTERMSIG(*other.ended.get()), SIGKILL);
}

}  // namespace
}  // namespace autodist::agent
