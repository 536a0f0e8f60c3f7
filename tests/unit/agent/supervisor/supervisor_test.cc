#include "agent/supervisor/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <condition_variable>
#include <filesystem>
#include <string_view>

#include "base/write_file.h"
#include "process/process_tree.h"
#include "support/block_sigchld.h"
#include "support/limit.h"
#include "support/temp_folder.h"

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
    events.started = [this](uint32_t rank, pid_t pid) {
      Change([&] { pids_[rank] = pid; });
      on_started_(rank);
    };
    events.exited = [this](const RankExit& exit) { Change([&] { exits_[exit.rank] = exit; }); };
    events.ended = [this] { Change([&] { ++ended_; }); };
    events.input = [this](uint32_t rank, base::UniqueFd in) {
      Change([&] { inputs_[rank] = std::move(in); });
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

  // The next bytes that rank 0 writes to stdout, or to stderr; "" at the end.
  std::string Read(base::UniqueFd base::FdPair::*stream = &base::FdPair::first) {
    EXPECT_TRUE(Await([&] { return pipes_.contains(0); }));
    char buffer[4096];
    const auto got = base::ReadSome((pipes_[0].*stream).get(), buffer, sizeof buffer,
                                    base::Deadline::After(milliseconds(kLimit)));
    EXPECT_TRUE(got.ok()) << got.status();
    return std::string(buffer, got.value_or(0));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, pid_t> pids_;
  std::map<uint32_t, base::FdPair> pipes_;
  std::map<uint32_t, RankExit> exits_;
  std::map<uint32_t, base::UniqueFd> inputs_;
  int ended_ = 0;
  std::function<void(uint32_t)> on_started_ = [](uint32_t) {};
  std::unique_ptr<Supervisor> supervisor_;
};

TEST_F(SupervisorTest, ReportsHowRanksEnd) {
  Start({Rank(0, "exit 3"), Rank(1, "kill -SEGV $$")});
  ASSERT_TRUE(Await([&] { return exits_.size() == 2; }));
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 3);
  EXPECT_EQ(exits_[0].pid, pids_[0]);
  EXPECT_GT(exits_[0].time_ns, 0);
  EXPECT_EQ(WTERMSIG(exits_[1].wait_status), SIGSEGV);
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

// Ranks that can wait: a script in Python says with which variables it runs, and executes `script`.
class WarmSupervisorTest : public SupervisorTest {
 protected:
  // Starts a helper in a new session, which ignores SIGTERM and has a child.
  static constexpr char kHasChild[] =
      "import os, subprocess, sys, time\n"
      "script = 'trap \"\" TERM; sleep 1000 & echo $!; wait'\n"
      "child = subprocess.Popen(['sh', '-c', script], start_new_session=True, stdout=-1)\n"
      "pids = f'{os.getpid()} {child.pid} {int(child.stdout.readline())}'\n"
      "open(sys.argv[2] + '.new', 'w').write(pids)\n"
      "os.rename(sys.argv[2] + '.new', sys.argv[2])\n"
      "time.sleep(1000)\n";

  RankCommand Python(uint32_t rank, const std::string& script) const {
    RankCommand command{rank, {}};
    command.spawn.argv = {"python3", rank_, script};
    command.spawn.environment = {"AUTODIST_LOCAL_RANK=0", "PATH=/usr/bin:/bin",
                                 "RANK=" + std::to_string(rank)};
    command.spawn.working_directory = "/";
    return command;
  }
  void KeepWarm(const RankCommand& command) {
    supervisor_->KeepWarm({command}, run_python_, waits_);
  }
  void AwaitWaiting() const { AwaitFile(waits_); }
  static void AwaitFile(const std::string& path) {
    const auto limit = base::Deadline::After(milliseconds(kLimit));
    while (!std::filesystem::exists(path) && !limit.Expired()) sched_yield();
  }
  // The supervisor takes its orders in order.
  void AwaitOrders() { ASSERT_TRUE(supervisor_->Run(Rank(1, "exit 0").spawn).ended.get().ok()); }
  RankCommand PythonOfLocalRank(uint32_t local) const {
    RankCommand command = Python(local, "echo is up; exec sleep 1000");
    command.spawn.environment[0] = "AUTODIST_LOCAL_RANK=" + std::to_string(local);
    return command;
  }
  std::vector<RankCommand> Four() const {
    std::vector<RankCommand> four;
    for (uint32_t rank = 0; rank < 4; ++rank) four.push_back(PythonOfLocalRank(rank));
    return four;
  }
  // Four processes that have imported their modules, and then hang.
  void KeepFourThatHang() {
    run_python_ = folder_.Write("hangs.py",
                                "import os, sys, time\n"
                                "os.write(3, b'w')\n"
                                "open(sys.argv[2] + os.environ['AUTODIST_LOCAL_RANK'], 'w')\n"
                                "time.sleep(1000)\n");
    supervisor_->KeepWarm(Four(), run_python_, waits_);
    for (const char* rank : {"0", "1", "2", "3"}) AwaitFile(waits_ + rank);
  }
  void EndAndKeep() {
    supervisor_->End(milliseconds(0), Supervisor::Warm::kKeep);
    ASSERT_TRUE(Await([&] { return ended_ == 1; }));
  }

  const test::TempFolder folder_;
  const std::string waits_ = folder_.path() + "/waits";  // exists once a process waits
  const std::string rank_ = folder_.Write("rank.py",
                                          "import os, sys\n"
                                          "print(os.environ['RANK'], 'is new', flush=True)\n"
                                          "os.execvp('sh', ['sh', '-c', sys.argv[1]])\n");
  std::string text_;
  std::string run_python_ =
      folder_.Write("run_python.py",
                    "import os, sys\n"
                    "had = os.environ.get('RANK', 'none')\n"
                    "os.write(int(sys.argv[1]), b'w')\n"
                    "open(sys.argv[2], 'w').close()\n"
                    "data = os.read(3, 10000).decode()\n"
                    "os.write(3, b'w')\n"
                    "if not data.endswith('\\0\\0') or not os.read(3, 1): os._exit(0)\n"
                    "variables = dict(v.split('=', 1) for v in data.split('\\0') if v)\n"
                    "print(variables['RANK'], 'was warm, with RANK', had, flush=True)\n"
                    "os.execvpe('sh', ['sh', '-c', sys.argv[5]], variables)\n");
};

TEST_F(WarmSupervisorTest, AWaitingProcessSurvivesTheEndAndBecomesTheRank) {
  Start({Rank(1, "sleep 1000 & sleep 1000")});
  KeepWarm(Python(7, "exit 4"));
  AwaitWaiting();
  EndAndKeep();
  const std::vector<pid_t> kept = process::Descendants(getpid());
  ASSERT_EQ(kept.size(), 1u);
  Start({Python(0, "exit 4")});
  EXPECT_EQ(Read(), "0 was warm, with RANK none\n");
  ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
  EXPECT_EQ(exits_[0].pid, kept[0]);
  EXPECT_EQ(WEXITSTATUS(exits_[0].wait_status), 4);
}

TEST_F(WarmSupervisorTest, AProcessThatDoesNotWaitIsReplaced) {
  struct Case {
    const char* run_python;
    const char* why;
  };
  for (const Case& it :
       {Case{"import time\ntime.sleep(1000)", "it has not imported all modules yet"},
        Case{"", "it has ended"}, Case{"import os\nos.write(3, b'no module')", "no module"},
        Case{"import os\nos.write(3, b'w')\nos._exit(0)", "it has ended"},
        Case{"import os, sys\nos.write(3, b'w')\nopen(sys.argv[2], 'w').close()\n"
             "os.read(3, 10000)\nos.write(3, b'train.py has changed')",
             "train.py has changed"},
        Case{"import os, sys, time\nos.write(3, b'w')\nopen(sys.argv[2], 'w').close()\n"
             "time.sleep(1000)",
             "it has not checked its files in time"},
        Case{"import os, subprocess, sys\nsubprocess.Popen(['sleep', '1000'])\nos.write(3, b'w')\n"
             "open(sys.argv[2], 'w').close()\nos.read(3, 10000)\nos.write(3, b'w')",
             "a module has started a process"}}) {
    std::filesystem::remove(waits_);
    run_python_ = folder_.Write("run_python.py", it.run_python);
    KeepWarm(Python(0, "exit 4"));
    AwaitOrders();
    const auto limit = base::Deadline::After(milliseconds(kLimit));
    const std::string_view text = it.run_python;
    const bool waits = text.find("argv") != text.npos;
    if (waits) AwaitWaiting();
    const bool ends = !waits && text.find("sleep") == text.npos;
    while (ends && !process::Descendants(getpid()).empty() && !limit.Expired()) sched_yield();
    Start({Python(0, "exit 4")});
    ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
    EXPECT_EQ(Read(), "0 is new\n") << it.why;
    EXPECT_EQ(Read(&base::FdPair::second),
              "autodist: --warm: Python starts again: " + std::string(it.why) + "\n");
    Change([&] {
      exits_.clear();
      pipes_.clear();
    });
  }
}

TEST_F(WarmSupervisorTest, OnlyARankThatIsTheSameExceptForTheAttemptContinues) {
  struct Case {
    void (*change)(process::SpawnRequest& next);
    bool warm;
  };
  for (const Case& it : {
           Case{[](auto&) {}, true},
           Case{[](auto& next) { next.environment.push_back("MASTER_PORT=1"); }, true},
           Case{[](auto& next) { next.environment.push_back("PMIX_RANK=1"); }, true},
           Case{[](auto& next) { next.environment.push_back("RANKS=1"); }, false},
           Case{[](auto& next) { next.environment.push_back("OMP_NUM_THREADS=1"); }, false},
           Case{[](auto& next) { next.environment.erase(next.environment.begin()); }, false},
           Case{[](auto& next) { next.argv.back() = "exit 5"; }, false},
           Case{[](auto& next) { next.working_directory = "/tmp"; }, false},
           Case{[](auto& next) { next.cpus = {0}; }, false},
       }) {
    std::filesystem::remove(waits_);
    KeepWarm(Python(3, "exit 4"));
    AwaitWaiting();
    RankCommand next = Python(0, "exit 4");
    it.change(next.spawn);
    Start({next});
    EXPECT_EQ(Read(), it.warm ? "0 was warm, with RANK none\n" : "0 is new\n");
    ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
    supervisor_->End(milliseconds(0), Supervisor::Warm::kKeep);
    supervisor_->WaitUntilEnded();
    EXPECT_TRUE(process::Descendants(getpid()).empty()) << "what fits no rank ends";
    Change([&] {
      exits_.clear();
      pipes_.clear();
    });
  }
}

TEST_F(WarmSupervisorTest, RanksOnOneNodeContinueEachInItsOwn) {
  RankCommand other = Python(1, "exit 5");
  other.spawn.environment[0] = "AUTODIST_LOCAL_RANK=1";
  supervisor_->KeepWarm({Python(0, "exit 5"), other}, run_python_, waits_);
  AwaitOrders();
  const std::vector<pid_t> waiting = process::Descendants(getpid());
  ASSERT_EQ(waiting.size(), 2u);
  KeepWarm(Python(0, "exit 5"));  // they wait already
  AwaitOrders();
  EXPECT_EQ(process::Descendants(getpid()), waiting);
}

TEST_F(WarmSupervisorTest, OnlyProgramsInPythonWithoutInputWait) {
  RankCommand with_input = Python(0, "exit 4");
  with_input.input = RankStdin::kPipe;
  supervisor_->KeepWarm({Rank(0, "exit 4"), with_input}, run_python_, waits_);
  AwaitOrders();
  EXPECT_TRUE(process::Descendants(getpid()).empty());
}

TEST_F(WarmSupervisorTest, ARankWithInputStartsInTheUsualWay) {
  KeepWarm(Python(0, "exit 4"));
  AwaitWaiting();
  RankCommand with_input = Python(0, "cat");
  with_input.input = RankStdin::kPipe;
  with_input.spawn.argv = Python(0, "exit 4").spawn.argv;
  Start({with_input});
  ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
  EXPECT_EQ(Read(), "0 is new\n");
  EXPECT_EQ(Read(&base::FdPair::second), "") << "nothing has changed";
  EXPECT_TRUE(inputs_.contains(0));
}

TEST_F(WarmSupervisorTest, NoRankStartsAfterTheOrderToEnd) {
  for (const bool stop : {true, false}) {
    KeepFourThatHang();
    const auto begin = base::Deadline::Clock::now();
    Start(Four());
    if (stop) supervisor_->Stop(seconds(600));
    supervisor_->End(seconds(600));
    supervisor_->WaitUntilEnded();
    EXPECT_LT(base::Deadline::Clock::now() - begin, seconds(2)) << "it waits for no answer";
    EXPECT_TRUE(pids_.empty());
    ASSERT_EQ(exits_.size(), 4u);
    EXPECT_EQ(exits_[3].start_failure.code(), StatusCode::kCancelled);
    EXPECT_TRUE(process::Descendants(getpid()).empty());
    Change([&] {
      exits_.clear();
      pids_.clear();
    });
    for (const char* rank : {"0", "1", "2", "3"}) std::filesystem::remove(waits_ + rank);
  }
}

TEST_F(WarmSupervisorTest, RanksWaitAtTheSameTimeForProcessesThatHang) {
  KeepFourThatHang();
  const auto begin = base::Deadline::Clock::now();
  Start(Four());
  supervisor_->Signal(SIGSTOP);
  ASSERT_TRUE(Await([&] { return pids_.size() == 4; }));
  EXPECT_LT(base::Deadline::Clock::now() - begin, seconds(6));
  AwaitOrders();
  for (const auto& [rank, pid] : pids_) {
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT), 0);
    EXPECT_EQ(info.si_status, SIGSTOP) << "the signal reaches a rank that was about to start";
  }
}

// The port or the memory of one may be what the other needs.
TEST_F(WarmSupervisorTest, ARankStartsAfterTheEndOfTheProcessThatItReplaces) {
  const std::string looks =
      "for i in $(cat " + waits_ + "); do [ -e /proc/$i ] && echo $i lives; done; echo ok";
  for (const bool refused : {true, false}) {
    std::filesystem::remove(waits_);
    run_python_ = folder_.Write("run_python.py", kHasChild);
    KeepWarm(Python(0, refused ? looks : "exit 4"));
    AwaitWaiting();
    // The thread of the supervisor reaps nothing until the rank has looked.
    on_started_ = [this](uint32_t) {
      text_.clear();
      for (std::string more = "x"; !text_.ends_with("ok\n") && !more.empty(); text_ += more) {
        more = Read();
      }
    };
    Start({Python(0, looks)});
    ASSERT_TRUE(Await([&] { return exits_.contains(0); }));
    EXPECT_EQ(text_, "0 is new\nok\n");
    Change([&] {
      exits_.clear();
      pipes_.clear();
    });
  }
}

TEST_F(WarmSupervisorTest, WhatAWaitingProcessHasStartedEndsWithIt) {
  for (const bool rank : {true, false}) {
    std::filesystem::remove(waits_);
    run_python_ = folder_.Write("run_python.py", kHasChild);
    KeepWarm(Python(0, "exit 4"));
    AwaitWaiting();
    EXPECT_EQ(process::Descendants(getpid()).size(), 3u);
    if (rank) {
      Start({Python(0, "exec sleep 1000")});
      ASSERT_TRUE(Await([&] { return pids_.contains(0); }));
      EXPECT_EQ(process::Descendants(getpid()), std::vector<pid_t>{pids_[0]});
    }
    supervisor_->End(seconds(600));
    EXPECT_TRUE(Await([&] { return ended_ == (rank ? 1 : 2); })) << "without the time to stop";
  }
}

TEST_F(WarmSupervisorTest, NoneIsStartedWhileRanksAreBeingStopped) {
  Start({Rank(0, "trap '' TERM; echo up; while :; do sleep 0.01; done")});
  ASSERT_EQ(Read(), "up\n");
  supervisor_->Stop(seconds(60));
  KeepWarm(Python(0, "exit 4"));
  AwaitOrders();
  EXPECT_FALSE(std::filesystem::exists(waits_));
  for (const pid_t pid : process::Descendants(getpid())) {
    EXPECT_NE(base::ReadFile("/proc/" + std::to_string(pid) + "/comm", 100).value_or(""),
              "python3\n");
  }
  supervisor_->End(milliseconds(0));
  supervisor_->WaitUntilEnded();
}

TEST_F(WarmSupervisorTest, TheLastEndAlsoEndsWaitingProcesses) {
  Start({Rank(1, "sleep 1000")});
  KeepWarm(Python(0, "exit 4"));
  supervisor_->End(milliseconds(0));
  ASSERT_TRUE(Await([&] { return ended_ == 1; }));
  EXPECT_TRUE(process::Descendants(getpid()).empty());
}

// Children whose parents end during a search must be found, too.
TEST_F(WarmSupervisorTest, NoOtherProcessSurvivesBesideAWaitingOne) {
  Start({Rank(1, "for i in 1 2 3 4 5 6 7 8; do ((sleep 1000 &) & sleep 0.0$i) & done; wait")});
  KeepWarm(Python(0, "exit 4"));
  ASSERT_TRUE(Await([&] { return exits_.contains(1); }));
  EndAndKeep();
  EXPECT_EQ(process::Descendants(getpid()).size(), 1u);
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
