#include "agent/supervisor/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "process/process_tree.h"
#include "support/block_sigchld.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kLimit;

class SupervisorTest : public testing::Test {
 protected:
  void SetUp() override {
    SupervisorEvents events;
    events.pipes = [this](uint32_t rank, base::UniqueFd out, base::UniqueFd err) {
      Change([&] { pipes_[rank] = {std::move(out), std::move(err)}; });
    };
    events.started = [this](uint32_t rank, pid_t pid, int64_t) {
      Change([&] { pids_[rank] = pid; });
    };
    events.exited = [this](const RankExit& exit) { Change([&] { exits_[exit.rank] = exit; }); };
    events.ended = [this] { Change([&] { ++ended_; }); };
    events.left = [this](v1::LeftStage stage, const std::vector<pid_t>& processes) {
      Change([&] {
        EXPECT_FALSE(processes.empty());
        left_.push_back(stage);
      });
    };
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
  void Start(std::vector<RankCommand> ranks, int stop_signal = SIGTERM) {
    supervisor_->Start(std::move(ranks), stop_signal);
  }

  // The next bytes that rank 0 writes to stdout; "" at the end.
  std::string Read() {
    EXPECT_TRUE(Await([&] { return pipes_.contains(0); }));
    char buffer[4096];
    const auto got = base::ReadSome(pipes_[0].first.get(), buffer, sizeof buffer,
                                    base::Deadline::After(milliseconds(kLimit)));
    EXPECT_TRUE(got.ok()) << got.status();
    return std::string(buffer, got.value_or(0));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, pid_t> pids_;
  std::map<uint32_t, base::FdPair> pipes_;
  std::map<uint32_t, RankExit> exits_;
  std::vector<v1::LeftStage> left_;
  int ended_ = 0;
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, ReportsHowRanksEnd) {
  Start({Rank(0, "exit 3"), Rank(1, "kill -SEGV $$")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 2; }));
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 3);
  EXPECT_EQ(exits_[0].pid, pids_[0]);
  EXPECT_GT(exits_[0].time_ns, 0);
  EXPECT_EQ(WTERMSIG(exits_[1].wait_status), SIGSEGV);
  EXPECT_EQ(exits_[1].signalled, 0);
  EXPECT_NE(exits_[0].first_failure, exits_[1].first_failure);
  EXPECT_TRUE(supervisor_->RunningRanks().empty());
}

TEST_F(SupervisorTest, TheEndOfARankDoesNotWaitForItsOutput) {
  Start({Rank(0, "echo out; (sleep 1000; echo never) & exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(Read(), "out\n");
}

TEST_F(SupervisorTest, AProgramThatCannotStartHasEnded) {
  RankCommand command = Rank(0, "");
  command.spawn.argv = {"/no/such/program"};
  Start({command});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(exits_[0].pid, 0);
  EXPECT_EQ(exits_[0].start_failure.code(), StatusCode::kNotFound);
}

TEST_F(SupervisorTest, StopSendsSigtermOnce) {
  Start({Rank(0,
              "n=0; trap 'n=$((n+1)); echo $n; [ $n = 2 ] && exit 9' TERM; echo up; "
              "while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(seconds(60));
  ASSERT_EQ(Read(), "1\n");
  supervisor_->Stop(milliseconds(200));  // shortens the grace period without a second SIGTERM
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGKILL);
  EXPECT_EQ(Read(), "");
}

TEST_F(SupervisorTest, TheStopSignalIsConfigurable) {
  Start({Rank(0, "trap 'exit 8' USR1; echo up; while :; do sleep 0.01; done")}, SIGUSR1);
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(seconds(60));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 8);
  EXPECT_EQ(exits_[0].signalled, SIGUSR1);
  EXPECT_FALSE(exits_[0].first_failure);
}

TEST_F(SupervisorTest, StopReachesTheWholeProcessGroup) {
  Start({Rank(0, "sleep 1000 & echo up; wait")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(seconds(60));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGTERM);
  EXPECT_EQ(Read(), "");  // all writers have closed the pipe
}

TEST_F(SupervisorTest, AStoppedRankIsContinuedToReceiveTheStopSignal) {
  Start({Rank(0, "trap 'exit 8' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Signal(SIGSTOP);
  supervisor_->Stop(seconds(60));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 8);
}

TEST_F(SupervisorTest, WithoutGraceRanksAreKilledAtOnce) {
  Start({Rank(0, "trap '' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(milliseconds(0));
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGKILL);
}

TEST_F(SupervisorTest, NoRankStartsDuringAnEndOrAfterTheSchedulerHasEndedTheJob) {
  Start({Rank(0, "trap '' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->End(milliseconds(100));
  Start({Rank(1, "exit 0")});
  supervisor_->WaitUntilEnded();
  supervisor_->StopForGood(seconds(60), true);
  Start({Rank(2, "exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.contains(1) && exits_.contains(2); }));
  for (const uint32_t rank : {1u, 2u}) {
    EXPECT_EQ(exits_[rank].start_failure.code(), StatusCode::kCancelled);
  }
}

// The order to stop an attempt may reach a node that takes no part in it.
TEST_F(SupervisorTest, AnOrderToStopDoesNotConcernLaterRanks) {
  supervisor_->Stop(milliseconds(50));
  Start({Rank(0, "sleep 0.3; exit 3")});
  ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 3);
}

TEST_F(SupervisorTest, NoRankStartsWhileOthersAreBeingStopped) {
  Start({Rank(0, "trap '' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(seconds(60));
  Start({Rank(1, "exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.contains(1); }));
  EXPECT_EQ(exits_[1].start_failure.code(), StatusCode::kCancelled);
}

// A scheduler signals the processes that it finds, which may be before a rank starts, and also us.
TEST_F(SupervisorTest, ARankThatStartsJustBeforeTheSchedulerEndsTheJobIsStopped) {
  Start({Rank(0, "exec sleep 1000"), Rank(1, "exec sleep 1000")});
  supervisor_->StopForGood(seconds(60), true);
  supervisor_->Stop(seconds(60));  // of the chief, which the scheduler has signalled too
  ASSERT_TRUE(Await([&] { return exits_.size() == 2; }));
  for (const uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(WTERMSIG(exits_[rank].wait_status), SIGTERM);
    EXPECT_EQ(exits_[rank].signalled, SIGTERM);
    EXPECT_FALSE(exits_[rank].first_failure);
  }
}

TEST_F(SupervisorTest, ARankThatTheSchedulerHasSignalledGetsNoSecondSignal) {
  constexpr milliseconds kNoLongerJustStarted{1200};
  Start({Rank(0, "trap 'echo term' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  std::this_thread::sleep_for(kNoLongerJustStarted);
  supervisor_->StopForGood(milliseconds(300), true);
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(WTERMSIG(exits_[0].wait_status), SIGKILL);
  EXPECT_EQ(Read(), "");
}

TEST_F(SupervisorTest, TheOrdersToStopAndToEndSendOneSignal) {
  using Order = std::function<void(Supervisor&)>;
  const Order stop = [](Supervisor& it) { it.Stop(seconds(60)); };
  const Order for_good = [](Supervisor& it) { it.StopForGood(seconds(60), false); };
  const Order signalled = [](Supervisor& it) { it.StopForGood(seconds(60), true); };
  const Order end = [](Supervisor& it) { it.End(seconds(60)); };
  for (const auto& [what, orders] : std::vector<std::pair<std::string, std::vector<Order>>>{
           {"stop, end", {stop, end}},
           {"stop, notice", {stop, signalled}},
           {"notice, stop, end", {signalled, stop, end}},
           {"notice of the watchdog, stop", {for_good, stop}},
           {"end, notice", {end, signalled}},
           {"both notices", {for_good, signalled}}}) {
    SetUp();  // StopForGood is final
    Change([&] {
      pids_.clear();
      pipes_.clear();
      exits_.clear();
    });
    Start({Rank(0,
                "trap 'echo term' TERM; echo up; n=0; "
                "while [ $n -lt 30 ]; do sleep 0.01; n=$((n+1)); done; exit 5")});
    ASSERT_EQ(Read(), "up\n");
    for (const Order& order : orders) order(*supervisor_);
    ASSERT_TRUE(Await([&] { return exits_.size() == 1; })) << what;
    EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 5) << what;
    EXPECT_EQ(Read(), "term\n") << what;
  }
}

TEST_F(SupervisorTest, ASignalReachesTheRanks) {
  Start({Rank(0, "trap 'echo usr2' USR2; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  ASSERT_TRUE(Await([&] { return pids_.contains(0); }));
  EXPECT_EQ(supervisor_->RunningRanks(), (std::map<uint32_t, pid_t>{{0, pids_[0]}}));
  supervisor_->Signal(SIGUSR2);
  EXPECT_EQ(Read(), "usr2\n");
}

TEST_F(SupervisorTest, EndLeavesNoProcessesNotEvenDaemons) {
  Start({Rank(0,
              "setsid sh -c 'trap \"\" TERM; (setsid sleep 1000 &) ; sleep 1000' & "
              "setsid setsid sleep 1000 & echo up; exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_FALSE(process::Descendants(getpid()).empty());
  supervisor_->End(milliseconds(100));  // one of them ignores SIGTERM
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(Await([&] { return ended_ == 1; }));
  EXPECT_TRUE(process::Descendants(getpid()).empty());
}

TEST_F(SupervisorTest, ProcessesThatRanksHaveLeftAreReportedUntilTheyAreKilled) {
  Start({Rank(0, "(trap '' TERM; echo up; exec sleep 1000) & exit 0")});
  ASSERT_EQ(Read(), "up\n");
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  supervisor_->End(kLeftAwaited + seconds(1));
  supervisor_->WaitUntilEnded();
  EXPECT_EQ(left_,
            (std::vector{v1::LEFT_STAGE_SIGNALLED, v1::LEFT_STAGE_AWAITED, v1::LEFT_STAGE_KILLED}));
}

TEST_F(SupervisorTest, WhatIsKilledAfterAShortGraceIsReported) {
  struct Row {
    int code;
    milliseconds grace;
    std::vector<v1::LeftStage> reported;
  };
  for (const auto& [code, grace, reported] :
       {Row{0, seconds(1), {v1::LEFT_STAGE_SIGNALLED, v1::LEFT_STAGE_KILLED}},
        Row{3, seconds(1), {v1::LEFT_STAGE_KILLED}},
        Row{0, milliseconds(0), {v1::LEFT_STAGE_KILLED}}}) {
    Change([&] {
      pipes_.clear();
      exits_.clear();
      left_.clear();
    });
    Start({Rank(0, "(trap '' TERM; echo up; exec sleep 1000) & exit " + std::to_string(code))});
    ASSERT_EQ(Read(), "up\n");
    ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
    supervisor_->End(grace);
    supervisor_->WaitUntilEnded();
    EXPECT_EQ(left_, reported) << code << " " << grace.count();
  }
}

TEST_F(SupervisorTest, WhatIsKilledTogetherWithItsRankIsNotLeft) {
  Start({Rank(0, "trap '' TERM; (trap '' TERM; sleep 1000) & echo up; sleep 1000")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(milliseconds(100));
  supervisor_->End(milliseconds(100));
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(left_.empty());
}

TEST_F(SupervisorTest, WhatAFailedRankLeavesIsNotReportedIfItEndsSoon) {
  Start({Rank(0, "sleep 1000 & exit 3")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  supervisor_->End(seconds(60));
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(left_.empty());
}

TEST_F(SupervisorTest, WhatEndsByItselfAfterASuccessIsNotSignalled) {
  Start({Rank(0, "(while kill -0 $$ 2> /dev/null; do :; done; echo last) & exit 0")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  supervisor_->End(seconds(60));
  EXPECT_EQ(Read(), "last\n");
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(left_.empty());
}

// Such as nvidia-smi, which runs as long as the job. The best of several times, for busy machines.
TEST_F(SupervisorTest, AProgramOfTheAgentDoesNotDelayTheEnd) {
  constexpr milliseconds kNoDelay{80};
  milliseconds best = seconds(60);
  for (int i = 0; i < 10 && best > kNoDelay; ++i) {
    supervisor_->Run(Rank(0, "exec sleep 1000").spawn);
    const auto begin = std::chrono::steady_clock::now();
    supervisor_->End(seconds(60));
    supervisor_->WaitUntilEnded();
    best = std::min(
        best, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin));
  }
  EXPECT_LE(best, kNoDelay);
  EXPECT_TRUE(left_.empty());
}

// The ranks here have succeeded, and others have failed. The best of several times.
TEST_F(SupervisorTest, WhatRanksLeaveDelaysNoRestart) {
  constexpr milliseconds kNoDelay{80};
  milliseconds best = seconds(60);
  for (int i = 0; i < 10 && best > kNoDelay; ++i) {
    Change([&] { exits_.clear(); });
    Start({Rank(0, "sleep 1000 & exit 0")});
    ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
    supervisor_->Stop(seconds(60));
    const auto begin = std::chrono::steady_clock::now();
    supervisor_->End(seconds(60));
    supervisor_->WaitUntilEnded();
    best = std::min(
        best, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin));
  }
  EXPECT_LE(best, kNoDelay);
}

TEST_F(SupervisorTest, ASignalThatWasPassedOnDoesNotExplainAFailure) {
  Start({Rank(0, "trap 'exit 3' USR1; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Signal(SIGUSR1);
  ASSERT_TRUE(Await([&] { return exits_.size() == 1; }));
  EXPECT_EQ(exits_[0].signalled, SIGUSR1);
  EXPECT_TRUE(exits_[0].first_failure);
}

TEST_F(SupervisorTest, ARankIsNotLeftByARank) {
  Start({Rank(0, "echo up; exec sleep 1000")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->End(seconds(60));
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(left_.empty());
  EXPECT_EQ(exits_[0].signalled, SIGTERM);
  EXPECT_FALSE(exits_[0].first_failure);
}

TEST_F(SupervisorTest, AfterTheEndRanksCanBeStartedAgain) {
  Start({Rank(0, "exec sleep 1000")});
  ASSERT_TRUE(Await([&] { return pids_.size() == 1; }));
  supervisor_->Stop(milliseconds(0));
  supervisor_->End(seconds(60));
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(exits_.contains(0));
  Start({Rank(1, "trap 'exit 4' TERM; while :; do sleep 0.01; done")});
  ASSERT_TRUE(Await([&] { return pids_.size() == 2; }));
  EXPECT_FALSE(exits_.contains(1));
  supervisor_->End(milliseconds(0));
  supervisor_->WaitUntilEnded();
  EXPECT_TRUE(exits_.contains(1));
}

TEST_F(SupervisorTest, RunReturnsTheExitOfAnotherChild) {
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
