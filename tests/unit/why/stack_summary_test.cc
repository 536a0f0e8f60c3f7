#include "why/stack_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "why/activity.h"
#include "why/rank_processes.h"
#include "why/stack_groups.h"

namespace autodist::why {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kFolder[] = "/home/me/exp";

// As an agent reports a process: `frames` of the main thread from py-spy.
std::string Python(const std::string& frames, const std::string& pid = "100") {
  return "process " + pid + " (sleeping): python train.py\n  thread " + pid +
         " (python): sleeping in futex_wait_queue, system call 202\n"
         "  user-space stacks by py-spy:\n"
         "    Process " +
         pid +
         ": python train.py\n    Python v3.11.2 (/usr/bin/python3.11)\n"
         "    Thread 101 (idle): \"Thread-1\"\n        run (/usr/lib/python3.11/threading.py:975)\n"
         "    Thread " +
         pid + " (idle): \"MainThread\"\n" + frames;
}

std::string Native(const std::string& frames, const std::string& command = "./train") {
  return "process 100 (sleeping): " + command +
         "\n  thread 100 (train): sleeping in futex_wait_queue, system call 202\n"
         "  user-space stacks by gdb:\n"
         "    [New LWP 101]\n    Thread 2 (Thread 0x7f1 (LWP 101) \"train\"):\n"
         "    #0  0x00007f12 in other () from /lib/libother.so\n"
         "    Thread 1 (Thread 0x7f2 (LWP 100) \"train\"):\n" +
         frames + "    [Inferior 1 (process 100) detached]\n";
}

TEST(StackSummaryTest, APythonInACollective) {
  EXPECT_EQ(
      SummaryOf(Python("        all_reduce "
                       "(/opt/venv/lib/python3.11/site-packages/torch/distributed/"
                       "distributed_c10d.py:2001)\n"
                       "        wrapper (/opt/venv/lib/python3.11/site-packages/torch/distributed/"
                       "c10d_logger.py:81)\n"
                       "        step (/home/me/exp/lib/steps.py:41)\n"
                       "        <module> (/home/me/exp/train.py:90)\n"),
                kFolder),
      (StackSummary{"all_reduce (torch/distributed/distributed_c10d.py:2001)",
                    "step (lib/steps.py:41)", "", "py-spy"}));
}

TEST(StackSummaryTest, WaitingFramesAreSkipped) {
  const StackSummary summary =
      SummaryOf(Python("        wait (/usr/lib/python3.11/threading.py:324)\n"
                       "        get (/usr/lib/python3.11/queue.py:180)\n"
                       "        _try_get_data "
                       "(/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py:1131)\n"
                       "        next_batch (/home/me/exp/dataloader.py:210)\n"),
                kFolder);
  EXPECT_EQ(summary, (StackSummary{"_try_get_data (torch/utils/data/dataloader.py:1131)",
                                   "next_batch (dataloader.py:210)", "", "py-spy"}));
}

TEST(StackSummaryTest, AUsersOwnFrameIsShown) {
  EXPECT_EQ(SummaryOf(Python("        select (/usr/lib/python3.11/selectors.py:416)\n"
                             "        next_batch (/home/me/exp/dataloader.py:210)\n"),
                      kFolder),
            (StackSummary{"next_batch (dataloader.py:210)", "", "", "py-spy"}));
  EXPECT_EQ(SummaryOf(Python("        work (/elsewhere/own.py:3)\n"), kFolder).doing,
            "work (/elsewhere/own.py:3)");
}

TEST(StackSummaryTest, IfAllFramesWaitTheInnermostIsShown) {
  EXPECT_EQ(
      SummaryOf(Python("        join (/usr/lib/python3.11/threading.py:1112)\n"), kFolder).doing,
      "join (threading.py:1112)");
}

TEST(StackSummaryTest, ANativeProgram) {
  EXPECT_EQ(
      SummaryOf(
          Native("    #0  0x00007f5 in __futex_abstimed_wait_common64 (private=0) at "
                 "./nptl/futex-internal.c:57\n"
                 "    #1  ___pthread_cond_wait (cond=0x55, mutex=0x5) at "
                 "./nptl/pthread_cond_wait.c:618\n"
                 "    #2  0x00007f9 in "
                 "std::condition_variable::wait(std::unique_lock<std::mutex>&) () "
                 "from /lib/x86_64-linux-gnu/libstdc++.so.6\n"
                 "    #3  0x0000555 in (anonymous namespace)::Ring::Wait (this=0x1, peers=(3)) at "
                 "/src/ring.cc:30\n"
                 "    #4  0x0000556 in main (argc=1) at train.cc:7\n"),
          kFolder),
      (StackSummary{"(anonymous namespace)::Ring::Wait (/src/ring.cc:30)", "", "", "gdb"}));
  EXPECT_EQ(SummaryOf(Native("    #0  __GI___poll (fds=0x7, nfds=1) at ../sysdeps/poll.c:29\n"
                             "    #1  0x0000 in ncclProxyService () from /usr/lib/libnccl.so.2\n"
                             "    #2  0x0001 in train () at train.cc:9\n"),
                      kFolder),
            (StackSummary{"ncclProxyService (libnccl.so.2)", "train (train.cc:9)", "", "gdb"}));
}

TEST(StackSummaryTest, FunctionsNamedLikeSystemCallsAreShown) {
  EXPECT_EQ(SummaryOf(Native("    #0  0x01 in read () from /lib/libc.so.6\n"
                             "    #1  0x02 in read_batch (n=3) at data.cc:5\n"),
                      kFolder)
                .doing,
            "read_batch (data.cc:5)");
}

TEST(StackSummaryTest, NativeFramesThatOnlyWait) {
  EXPECT_EQ(
      SummaryOf(Native("    #0  0x01 in clock_nanosleep () from /lib/libc.so.6\n"
                       "    #1  0x02 in ?? ()\n    #2  0x03 in _PyEval_EvalFrameDefault ()\n"),
                kFolder)
          .doing,
      "clock_nanosleep (libc.so.6)");
}

// A process that waits for another is less informative than that.
TEST(StackSummaryTest, TheProgramOfAShellCounts) {
  const std::string shell = Native(
      "    #0  0x01 in wait4 () from /lib/libc.so.6\n    #1  0x02 in ?? ()\n", "sh -c train");
  EXPECT_THAT(
      SummaryOf(shell + Python("        step (/home/me/exp/train.py:4)\n", "102"), kFolder).doing,
      StartsWith("step (train.py:4)"));
  EXPECT_EQ(SummaryOf(shell, kFolder).doing, "wait4 (libc.so.6)");
  const std::string launcher = Python(
      "        _try_wait (/usr/lib/python3.11/subprocess.py:2010)\n"
      "        main (/home/me/exp/launch.py:5)\n");
  EXPECT_EQ(SummaryOf(launcher + Native("    #0  0x1 in step () at a.cc:1\n"), kFolder).doing,
            "step (a.cc:1)");
}

TEST(StackSummaryTest, WithoutStackToolsTheKernelsDataIsUsed) {
  const std::string text =
      "no user-space stacks: neither py-spy nor gdb is installed on this node\n"
      "process 7 (sleeping): sh -c 'python train.py'\n  thread 7 (sh): sleeping in do_wait, system "
      "call 61\nprocess 8 (sleeping): python train.py\n"
      "  thread 8 (python): sleeping in futex_wait_queue, system call 202\n";
  EXPECT_EQ(SummaryOf(text, kFolder),
            (StackSummary{"sleeping in futex_wait_queue, system call 202", "",
                          "neither py-spy nor gdb is installed on this node"}));
}

// gdb shows nothing familiar for a waiting interpreter.
TEST(StackSummaryTest, WithoutPySpyTheKernelsDataIsUsedForAWaitingPython) {
  const std::string wait =
      "process 7 (sleeping): python3 train.py\n"
      "  thread 7 (python3): sleeping in hrtimer_nanosleep, system call 230\n"
      "  user-space stacks by gdb:\n"
      "    Thread 1 (LWP 7 \"python3\"):\n"
      "    #0  0x00007f0a in clock_nanosleep () from /lib/x86_64-linux-gnu/libc.so.6\n";
  const std::string interpreter =
      "    #1  0x00000000004f in _PyEval_EvalFrameDefault ()\n"
      "    #2  0x00000000004f in main ()\n"
      "    #3  0x00000000005f in _start ()\n";
  const std::string missing =
      "  no user-space stacks of Python: py-spy, which shows Python's, is not installed on this "
      "node\n";
  EXPECT_EQ(SummaryOf(wait + interpreter + missing, kFolder),
            (StackSummary{"sleeping in hrtimer_nanosleep, system call 230", "",
                          "py-spy, which shows Python's, is not installed on this node", "gdb"}));
  const std::string noise = "    48\t../clock_nanosleep.c: No such file or directory.\n";
  EXPECT_EQ(SummaryOf(wait.substr(0, wait.find("gdb:") + 5) + noise + missing, kFolder).missing,
            "py-spy, which shows Python's, is not installed on this node");
  const std::string shown = "    #1  0x00007f0b in ncclWait () from /lib/libnccl.so.2\n";
  EXPECT_EQ(SummaryOf(wait + shown + interpreter + missing, kFolder),
            (StackSummary{"ncclWait (libnccl.so.2)", "", "", "gdb"}));
}

// The main thread is last, so another thread's stack could be taken for it.
TEST(StackSummaryTest, ATruncatedGdbOutputIsIgnored) {
  const std::string text =
      "process 7 (sleeping): python3 train.py\n  thread 7 (python3): sleeping in do_poll\n"
      "  user-space stacks by gdb:\n    Thread 3 (LWP 9 \"python3\"):\n"
      "    #0  0x00007f0b in c10d::ProcessGroupGloo::runLoop(int) () from /lib/libtorch_cpu.so\n"
      "  no user-space stacks: gdb did not end within 15 s\n";
  EXPECT_EQ(SummaryOf(text, kFolder),
            (StackSummary{"sleeping in do_poll", "", "gdb did not end within 15 s"}));
}

// A shell's loop starts a `sleep` again and again.
TEST(StackSummaryTest, AChildThatHasEndedIsNotWhatTheRankDoes) {
  const std::string shell =
      "process 7 (sleeping): sh loop\n  thread 7 (sh): sleeping in do_wait\n"
      "  user-space stacks by gdb:\n    Thread 1 (LWP 7 \"sh\"):\n"
      "    #0  0x00007f0a in wait4 () from /lib/libc.so.6\n";
  const std::string gdb = "  user-space stacks by gdb:\n";
  const std::string child = "process 8 (running): sleep 0.1\n  child of 7\n  thread 8: running\n";
  const std::string ended = "  has ended meanwhile\n";
  const std::string zombie = "process 8 (zombie): [sleep]\n  thread 8 (sleep): zombie\n";
  for (const std::string& other :
       {zombie, child + ended, child + gdb + "    ptrace: No such process.\n" + ended}) {
    EXPECT_EQ(SummaryOf(shell + other, kFolder).doing, "wait4 (libc.so.6)") << other;
    EXPECT_EQ(SummaryOf(other, kFolder), (StackSummary{"", "", "its process has ended"})) << other;
  }
  const std::string frames = "    Thread 1 (LWP 8):\n    #0  0x01 in step () at a.cc:1\n";
  EXPECT_EQ(SummaryOf(shell + child + gdb + frames + ended, kFolder).doing, "step (a.cc:1)");
}

TEST(StackSummaryTest, WhyPySpyShowsNoStacks) {
  const std::string text =
      "process 7 (running): python train.py\n  thread 7 (python): running\n"
      "  user-space stacks by py-spy:\n    py-spy ended with status 1\n"
      "    Error: Permission Denied: Try running again with elevated permissions\n";
  EXPECT_EQ(SummaryOf(text, kFolder),
            (StackSummary{"running", "",
                          "py-spy shows none: Error: Permission Denied: Try running again with "
                          "elevated permissions"}));
}

// Data from nodes is untrusted.
TEST(StackSummaryTest, InvalidStacksAreHandled) {
  for (const std::string text :
       {"", "process", "process 1 (x): y", "process 1 has ended\n", "process \n  thread \n",
        "  user-space stacks by gdb:\n",
        "process 1\n  user-space stacks by gdb:\n    Thread 1 \n    #0",
        "process 1\n  user-space stacks by py-spy:\n    Thread 1 \"MainThread\"\n      (\n"}) {
    const StackSummary summary = SummaryOf(text, kFolder);
    EXPECT_THAT(summary.doing + summary.missing, Not(IsEmpty())) << text;
  }
  const std::string evil =
      SummaryOf(Python("        \x1b[2J" + std::string(100'000, 'x') + "\n"), "").doing;
  EXPECT_THAT(evil, StartsWith("\\x1b[2Jxxx"));
  EXPECT_LT(evil.size(), 300u);
}

class StackGroupsTest : public testing::Test {
 protected:
  void InAllReduce(std::initializer_list<uint32_t> ranks) {
    for (const uint32_t rank : ranks) {
      groups_.Add(rank, {"all_reduce (torch/distributed/distributed_c10d.py:2001)",
                         "step (train.py:41)", ""});
    }
  }
  std::string Text() const {
    v1::JobStacks stacks;
    for (v1::StackGroup& group : groups_.Groups()) *stacks.add_groups() = std::move(group);
    return GroupsText(stacks.groups());
  }

  StackGroups groups_;
};

TEST_F(StackGroupsTest, TheDeviatingRankIsFirst) {
  InAllReduce({0, 1, 3, 4, 5, 6, 7});
  groups_.Add(2, {"next_batch (dataloader.py:210)", "", ""});
  EXPECT_EQ(Text(),
            "rank 2, unlike most, in next_batch (dataloader.py:210)\n"
            "7 ranks in all_reduce (torch/distributed/distributed_c10d.py:2001), called by step "
            "(train.py:41): 0-1, 3-7");
}

TEST_F(StackGroupsTest, WithoutAMajorityNoRankDeviates) {
  InAllReduce({0, 2});
  groups_.Add(1, {"a (a.py:1)", "", ""});
  groups_.Add(3, {"a (a.py:1)", "", ""});
  EXPECT_THAT(Text(), Not(HasSubstr("unlike")));
  EXPECT_THAT(Text(), HasSubstr("2 ranks in a (a.py:1): 1, 3"));
}

// They may be in the same place, which the tools show differently.
TEST_F(StackGroupsTest, RanksThatOtherToolsHaveShownDoNotDeviate) {
  constexpr char kInC10d[] = "c10d::ProcessGroupGloo::allreduce (libtorch_cpu.so)";
  for (const uint32_t rank : {0u, 1u, 2u}) {
    groups_.Add(rank, {"all_reduce (c10d.py:1)", "", "", "py-spy"});
  }
  groups_.Add(3, {kInC10d, "", "", "gdb"});
  groups_.Add(4, {"sleeping in futex_wait", "", "gdb did not end within 25 s"});
  EXPECT_THAT(Text(), Not(HasSubstr("unlike")));
  groups_.Add(5, {"load (train.py:7)", "", "", "py-spy"});
  EXPECT_THAT(Text(), HasSubstr("rank 5, unlike most, in load (train.py:7)\n"));
  for (const uint32_t rank : {6u, 7u}) groups_.Add(rank, {kInC10d, "", "", "gdb"});
  groups_.Add(8, {"step (a.cc:1)", "", "", "gdb"});
  EXPECT_THAT(Text(), HasSubstr("rank 8, unlike most, in step (a.cc:1)\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("rank 3, unlike")));
}

// Ranks that call the same function from different places may be the cause.
TEST_F(StackGroupsTest, TheCallerCounts) {
  groups_.Add(0, {"all_reduce (c10d.py:1)", "step (train.py:41)", ""});
  groups_.Add(1, {"all_reduce (c10d.py:1)", "evaluate (train.py:70)", ""});
  EXPECT_EQ(groups_.Groups().size(), 2u);
}

TEST_F(StackGroupsTest, UnknownRanksAreLastWithTheReason) {
  groups_.AddUnknown(5, "n2 is not connected: its agent does not answer");
  groups_.AddUnknown(4, "n2 is not connected: its agent does not answer");
  groups_.Add(0, {"", "", "its process has ended"});
  InAllReduce({1, 2, 3});
  groups_.Add(2, {"too late", "", ""});
  EXPECT_EQ(Text(),
            "3 ranks in all_reduce (torch/distributed/distributed_c10d.py:2001), called by step "
            "(train.py:41): 1-3\n"
            "rank 0 not known: its process has ended\n"
            "2 ranks not known: n2 is not connected: its agent does not answer: 4-5");
}

TEST_F(StackGroupsTest, TheReasonForMissingStacksIsShown) {
  groups_.Add(0, {"sleeping in pipe_read", "", "neither py-spy nor gdb is installed on this node"});
  EXPECT_EQ(
      Text(),
      "rank 0 sleeping in pipe_read (no stack: neither py-spy nor gdb is installed on this node)");
}

std::string Process(int pid, int parent, const std::string& state) {
  return "process " + std::to_string(pid) + " (sleeping): sh\n  child of " +
         std::to_string(parent) + "\n  thread " + std::to_string(pid) + " (sh): " + state + "\n";
}

// A hostile node sends what it likes. If the cost were a power of the number of processes, this
// would take hours.
TEST(ActivitiesTest, ManyProcessesTakeLittleTime) {
  std::string text = Process(1, 0, "sleeping in do_wait");
  for (int pid = 2; pid <= 1000; ++pid) text += Process(pid, 1, "running");
  for (int pid = 1001; pid < 3000; ++pid) text += Process(pid, pid + 1, "running");
  text += Process(3000, 1001, "running");
  EXPECT_EQ(ActivitiesOf(text, kFolder).size(), 511U);

  std::string same = Process(1, 0, "sleeping in do_wait");
  for (int i = 0; i < 10'000; ++i) same += Process(7, 7, "sleeping in do_wait");
  EXPECT_EQ(ReadProcesses(same).size(), 512U);
  EXPECT_FALSE(ActivitiesOf(same, kFolder).empty());

  std::string counts;
  for (int i = 0; i < 10'000; ++i) counts += "counted by NCCL: group g: 1 entered; a < b\n";
  EXPECT_EQ(ReadGroupCounts(counts).size(), 1024U);
}

}  // namespace
}  // namespace autodist::why
