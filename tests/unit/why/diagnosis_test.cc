#include "why/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "why/activity.h"

namespace autodist::why {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kNow = 1'800'000'000'000;

// As an agent reports a rank: the kernel's state and `frames` of the main thread from py-spy.
std::string OnPython(const std::string& state, const std::string& frames, uint64_t switches = 100,
                     const std::string& file = "") {
  return "process 100 (sleeping): python3 train.py\n  thread 100 (python3): " + state + "\n" +
         (file.empty() ? "" : "    file: " + file + "\n") + "    switched " +
         std::to_string(switches) +
         " times\n    [<0>] futex_do_wait+0x46/0x90\n  user-space stacks by py-spy:\n"
         "    Process 100: python3 train.py\n    Thread 100 (idle): \"MainThread\"\n" +
         frames + "        <module> (/home/me/train.py:90)\n";
}

Activity OnlyActivity(const std::string& text, const std::string& folder) {
  const std::vector<Activity> activities = ActivitiesOf(text, folder);
  EXPECT_EQ(activities.size(), 1) << text;
  return activities.at(0);
}

std::string Frame(const std::string& function, const std::string& file) {
  return "        " + function + " (" + file + ")\n";
}

std::string Collective(const std::string& name, uint64_t switches = 100) {
  return OnPython("sleeping in futex_do_wait, system call 202",
                  Frame("wait", "/usr/lib/python3.11/threading.py:320") +
                      Frame(name,
                            "/opt/lib/python3.11/site-packages/torch/distributed/"
                            "distributed_c10d.py:1541") +
                      Frame("step", "/home/me/train.py:40"),
                  switches);
}

std::string Asleep() {
  return OnPython("sleeping in hrtimer_nanosleep, system call 230",
                  Frame("load", "/home/me/train.py:12"));
}

std::string Computes() { return OnPython("running", Frame("forward", "/home/me/net.py:7")); }

// Four ranks on two nodes; the last output was ten seconds ago.
class DiagnosisTest : public testing::Test {
 protected:
  DiagnosisTest() {
    v1::JobSnapshot& snapshot = known_.now;
    snapshot.set_time_ms(kNow);
    snapshot.mutable_job()->set_working_directory("/home/me");
    snapshot.mutable_job()->set_last_output_ms(kNow - 10'000);
    for (uint32_t node = 0; node < 2; ++node) {
      v1::NodeSnapshot& of = *snapshot.add_nodes();
      of.set_address("host" + std::to_string(node + 1));
      of.set_phase(v1::NODE_PHASE_RUNNING);
      for (uint32_t i = 0; i < 2; ++i) {
        v1::RankSnapshot& rank = *snapshot.add_ranks();
        rank.set_rank(2 * node + i);
        rank.set_node(node);
        rank.set_name("rank " + std::to_string(rank.rank()));
        rank.set_state(v1::RANK_STATE_RUNNING);
        rank.add_gpus(i);
        of.add_ranks(rank.rank());
      }
    }
    known_.before = snapshot;
    known_.before->set_time_ms(kNow - 5'000);
  }

  void Stack(uint32_t rank, const std::string& now, const std::string& earlier) {
    for (const auto& [stacks, text] :
         {std::pair{&known_.stacks, &now}, {&known_.stacks_earlier, &earlier}}) {
      v1::WholeStack& stack = stacks->emplace_back();
      stack.set_rank(rank);
      stack.set_text(*text);
    }
  }
  void Stack(uint32_t rank, const std::string& text) { Stack(rank, text, text); }
  void OthersIn(const std::string& collective) {
    for (const uint32_t rank : {0u, 1u, 3u}) Stack(rank, Collective(collective));
  }

  v1::NodeSnapshot& node(int i) { return *known_.now.mutable_nodes(i); }
  v1::RankSnapshot& rank(int i) { return *known_.now.mutable_ranks(i); }
  v1::HostSample& host(int i) { return *node(i).mutable_sample()->mutable_host(); }
  void Gpus(double clock_of_third) {
    for (int i = 0; i < 4; ++i) {
      v1::GpuSample& gpu = *node(i / 2).mutable_sample()->add_gpus();
      gpu.set_index(static_cast<uint32_t>(i % 2));
      gpu.set_use(1);
      gpu.set_clock_limit(1980);
      gpu.set_clock(i == 2 ? clock_of_third : 1935 + 15 * i);
      if (i == 2) gpu.add_throttled("HW power brake");
    }
  }

  void Expect(v1::JobDiagnosis::Kind kind, const testing::Matcher<std::string>& what) {
    const v1::JobDiagnosis diagnosis = Judge(known_);
    EXPECT_EQ(diagnosis.kind(), kind);
    EXPECT_THAT(diagnosis.issue().what(), what);
    EXPECT_GT(diagnosis.issue().evidence_size(), 0);
    for (const v1::Evidence& one : diagnosis.issue().evidence()) {
      EXPECT_NE(one.value(), "") << one.what();
      EXPECT_NE(one.source(), "") << one.what();
    }
  }
  void ExpectWrong(const testing::Matcher<std::string>& what) {
    Expect(v1::JobDiagnosis::KIND_ISSUE, what);
  }

  Known known_;
};

TEST_F(DiagnosisTest, ARankOutsideOfTheCollectiveIsNamedWithItsActivity) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  ExpectWrong(
      "rank 2 (host2, GPU 0) has not entered the all-reduce in which the 3 others wait; it sleeps "
      "in load (train.py:12)");
  const v1::Issue issue = Judge(known_).issue();
  EXPECT_EQ(issue.cost(), "no rank has written anything for 10 s");
  EXPECT_EQ(issue.since_ms(), kNow - 10'000);
  EXPECT_THAT(issue.ranks(), testing::ElementsAre(2));
  EXPECT_THAT(issue.nodes(), testing::ElementsAre(1));
  EXPECT_EQ(issue.evidence(0).what(), "rank 2");
  EXPECT_EQ(issue.evidence(1).what(), "ranks 0-1, 3");
  EXPECT_EQ(issue.evidence(1).source(), "py-spy, /proc");
}

// A single sample of an active job looks like a stalled one.
TEST_F(DiagnosisTest, AMomentWithinAStepIsNotAStandstill) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  known_.stacks_earlier.clear();
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  known_.stalled = true;
  ExpectWrong(HasSubstr("has not entered"));
}

TEST_F(DiagnosisTest, ARankThatRanBetweenTheSamplesHasFinishedACollective) {
  for (const uint32_t rank : {0u, 1u, 3u}) {
    Stack(rank, Collective("all_reduce", 180), Collective("all_reduce", 100));
  }
  Stack(2, Asleep());
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, IfAnotherRankIsMissingNextTimeTheJobIsActive) {
  Stack(0, Asleep(), Collective("all_reduce"));
  for (const uint32_t rank : {1u, 3u}) Stack(rank, Collective("all_reduce"));
  Stack(2, Collective("all_reduce"), Asleep());
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, OutputInTheMeantimeIsASignOfLife) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  known_.now.mutable_job()->set_last_output_ms(kNow - 300);
  Expect(v1::JobDiagnosis::KIND_OK, "nothing is wrong: ranks write");
}

TEST_F(DiagnosisTest, NewStepsAreEvidence) {
  known_.before->mutable_progress()->set_step(1200);
  known_.now.mutable_progress()->set_step(1215);
  Expect(v1::JobDiagnosis::KIND_OK, "nothing is wrong: steps continue");
  EXPECT_EQ(Judge(known_).issue().evidence(0).value(), "from 1,200 to 1,215 within 5 s");
}

// The silence of a rank at a sample some seconds ago does not apply to the present.
TEST_F(DiagnosisTest, ALateSampleIsNotASignOfLife) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  rank(2).mutable_sample()->set_silent_ms(1'000);
  ExpectWrong(HasSubstr("has not entered"));
}

class BusyNodeTest : public DiagnosisTest {
 protected:
  BusyNodeTest() {
    host(1).set_cores(8);
    host(1).set_cpu(1);
    for (const int i : {2, 3}) rank(i).mutable_sample()->set_cpu(0);
  }
};

TEST_F(BusyNodeTest, StalledRanksAreTheDiagnosis) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  ExpectWrong(AllOf(StartsWith("rank 2 (host2, GPU 0) has not entered the all-reduce"),
                    testing::EndsWith("it sleeps in load (train.py:12)")));
  const v1::Issue issue = Judge(known_).issue();
  EXPECT_TRUE(std::ranges::any_of(issue.evidence(), [](const v1::Evidence& one) {
    return one.what() == "besides" && one.value() == "host2: other programs use 8.0 cores of 8";
  }));
}

// It may have been faulty for days.
TEST_F(DiagnosisTest, AFaultyGpuIsOnlyMentioned) {
  Gpus(1005);
  node(0).mutable_sample()->mutable_gpus(0)->add_faults("had 1 memory error");
  OthersIn("all_reduce");
  Stack(2, Asleep());
  ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the all-reduce"));
  const v1::Issue issue = Judge(known_).issue();
  EXPECT_TRUE(std::ranges::any_of(issue.evidence(), [](const v1::Evidence& one) {
    return one.what() == "besides" && one.value().ends_with("the GPU had 1 memory error");
  }));
}

TEST_F(BusyNodeTest, AnIdleRankNeedsNoCores) {
  OthersIn("all_reduce");
  Stack(2, Collective("all_reduce"));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, HasSubstr("wait in the same operation"));
  Stack(2, Computes());
  known_.stacks.erase(known_.stacks.end() - 2);
  known_.stacks_earlier.erase(known_.stacks_earlier.end() - 2);
  ExpectWrong(HasSubstr("other programs use"));
}

// The machine may be too busy for py-spy to finish.
std::string WithoutFrames(uint64_t switches) {
  return "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
         "futex_do_wait, system call 202\n    switched " +
         std::to_string(switches) +
         " times\n  user-space stacks by py-spy:\n    py-spy was killed by SIGKILL\n";
}

TEST_F(BusyNodeTest, AnEmptySampleIsCompensatedByTheOther) {
  for (const uint32_t rank : {0u, 1u}) Stack(rank, WithoutFrames(102), Collective("all_reduce"));
  Stack(2, Asleep());
  Stack(3, Collective("all_reduce", 101), WithoutFrames(100));
  ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the all-reduce"));
  known_.stacks[0].set_text(WithoutFrames(150));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

// The kernel's state is the same for a rank in a collective.
TEST_F(DiagnosisTest, ARankWithoutAStackIsNotMissing) {
  const std::string blind =
      "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
      "futex_do_wait, system call 202\n    switched 100 times\n  user-space stacks by gdb:\n"
      "    Thread 3 (LWP 9 \"python3\"):\n    #0  0x00007f0b in runLoop(int) ()\n"
      "  no user-space stacks: gdb did not end within 15 s\n";
  for (const uint32_t rank : {0u, 3u}) Stack(rank, Collective("all_reduce"));
  for (const uint32_t rank : {1u, 2u}) Stack(rank, blind);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  known_.stacks[3].set_text(Asleep());
  known_.stacks_earlier[3].set_text(Asleep());
  ExpectWrong(StartsWith(
      "rank 2 (host2, GPU 0) has not entered the all-reduce in which 2 others wait; it sleeps"));
}

// A rank's process that waits for its loader, and the loader.
std::string Loads(const std::string& state, uint64_t switches) {
  const std::string loader = "/usr/lib/python3/dist-packages/torch/utils/data/";
  std::string worker = OnPython(
      state, Frame("decode", "/home/me/data.py:9") + Frame("fetch", loader + "_utils/fetch.py:58"),
      switches);
  return OnPython("sleeping in do_poll, system call 7",
                  Frame("_try_get_data", loader + "dataloader.py:1120")) +
         worker;
}

TEST_F(DiagnosisTest, AFirstEpochMayBeSlow) {
  for (const uint32_t rank : {0u, 1u, 2u, 3u}) Stack(rank, Loads("running", 100));
  Expect(v1::JobDiagnosis::KIND_OK,
         AllOf(StartsWith("nothing is wrong: all 4 ranks are at work; rank 0 (host1, GPU 0) is in "
                          "its data loader"),
               testing::EndsWith("whose worker is in decode (data.py:9)")));
}

TEST_F(DiagnosisTest, AnActiveLoaderIsNotAStandstill) {
  const std::string waits = "sleeping in rpc_wait_bit_killable, system call 0";
  OthersIn("all_reduce");
  Stack(2, Loads(waits, 150), Loads(waits, 100));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  known_.stacks.back().set_text(Loads(waits, 101));
  ExpectWrong(testing::EndsWith("whose worker is in decode (data.py:9)"));
}

TEST_F(DiagnosisTest, AStoppedRankIsTheDiagnosisEvenIfOthersAreActive) {
  OthersIn("all_reduce");
  Stack(2,
        "process 100 (stopped): python3 train.py\n  thread 100 (python3): stopped in "
        "do_signal_stop, system call 62\n  user-space stacks by py-spy:\n    Error: no\n");
  ExpectWrong(
      "rank 2 (host2, GPU 0) is stopped by a signal (state T); the 3 others wait in an all-reduce");
}

TEST_F(DiagnosisTest, ARankThatWaitsForAStoppedProcess) {
  OthersIn("all_reduce");
  Stack(2,
        "process 100 (sleeping): python3 train.py\n  thread 100 (python3): sleeping in "
        "unix_stream_read_generic, system call 0\n"
        "process 101 (stopped): python3 train.py\n  child of 100\n  thread 101 (python3): stopped "
        "in do_signal_stop, system call 62\n");
  ExpectWrong(
      "rank 2 (host2, GPU 0) has not entered the all-reduce in which the 3 others wait; it waits "
      "at a socket, and its process 101 is stopped by a signal (state T)");
}

TEST_F(DiagnosisTest, RanksInDifferentCollectives) {
  OthersIn("all_reduce");
  Stack(2, Collective("broadcast"));
  ExpectWrong(
      "rank 2 (host2, GPU 0) waits in broadcast (train.py:40), the 3 others in all_reduce "
      "(train.py:40): they do not execute the same collectives");
}

TEST_F(DiagnosisTest, ABarrierThatOneRankMissed) {
  OthersIn("barrier");
  Stack(2, Collective("all_reduce"));
  ExpectWrong(
      "rank 2 (host2, GPU 0) waits in all_reduce (train.py:40), the 3 others in barrier "
      "(train.py:40): they do not execute the same collectives");
}

// In a healthy pipeline, ranks are in different operations.
TEST_F(DiagnosisTest, PointToPointOperationsAreNotAMismatch) {
  OthersIn("recv");
  Stack(2, Collective("send"));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, IfAllWaitForEachOtherTheCauseIsUnclear) {
  OthersIn("all_reduce");
  Stack(2, Collective("all_reduce"));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN,
         StartsWith("unclear: all 4 ranks wait in the same operation, an all-reduce"));
}

TEST_F(DiagnosisTest, InterfaceErrorsExplainWhyAllWait) {
  OthersIn("all_reduce");
  Stack(2, Collective("all_reduce"));
  v1::InterfaceSample& now = *node(1).mutable_sample()->add_interfaces();
  now.set_name("eth0");
  now.set_errors(5'000);
  *known_.before->mutable_nodes(1)->mutable_sample() = node(1).sample();
  known_.before->mutable_nodes(1)->mutable_sample()->mutable_interfaces(0)->set_errors(2'000);
  ExpectWrong("host2: errors of network interface eth0 rise");
}

TEST_F(DiagnosisTest, AWorkingRankIsNotAnIssue) {
  for (const uint32_t rank : {0u, 1u, 2u, 3u}) Stack(rank, Computes());
  Expect(v1::JobDiagnosis::KIND_OK,
         "nothing is wrong: all 4 ranks are at work; rank 0 (host1, GPU 0) "
         "computes in forward (net.py:7)");
}

TEST_F(DiagnosisTest, AnEvaluationOnOneRankIsNotAStandstill) {
  OthersIn("barrier");
  Stack(2, Computes());
  Expect(v1::JobDiagnosis::KIND_OK,
         "nothing is wrong as far as autodist sees: rank 2 (host2, GPU 0) computes in forward "
         "(net.py:7); 3 ranks wait for that in a collective");
}

TEST_F(DiagnosisTest, AWrittenCheckpoint) {
  OthersIn("barrier");
  Stack(2, OnPython("sleeping in folio_wait_bit_common, system call 1",
                    Frame("save", "/usr/lib/python3/dist-packages/torch/serialization.py:423") +
                        Frame("main", "/home/me/train.py:60")));
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("rank 2 (host2, GPU 0) writes a checkpoint in main"));
}

// The work of the last process in a text, as an agent reports it. `written`: of the bytes; it has
// read the others.
std::string Worked(const std::string& text, int at_ms, int cpu_ms, int main_ms, int bytes,
                   int written = 0) {
  return text + "  by " + std::to_string(at_ms) + " ms: CPU " + std::to_string(cpu_ms) +
         " ms, main thread " + std::to_string(main_ms) + " ms, data " + std::to_string(bytes) +
         " bytes, " + std::to_string(bytes - written) + " of them read, " +
         std::to_string(written) + " written\n";
}

// Others wait for rank 2, which has done this within the five seconds between two samples.
class WaitsForItsOwnTest : public DiagnosisTest {
 protected:
  WaitsForItsOwnTest() { OthersIn("barrier"); }
  static std::string Waits() {
    return OnPython("sleeping in futex_do_wait, system call 202",
                    Frame("wait", "/usr/lib/python3.11/threading.py:320") +
                        Frame("evaluate", "/home/me/eval.py:7"));
  }
  void ExpectAtWork(const std::string& by) {
    Expect(v1::JobDiagnosis::KIND_OK,
           "nothing is wrong as far as autodist sees: rank 2 (host2, GPU 0) waits for a lock, "
           "another thread or another process in evaluate (eval.py:7), while " +
               by + "; 3 ranks wait for that in a collective");
  }
};

TEST_F(WaitsForItsOwnTest, AComputingThread) {
  Stack(2, Worked(Waits(), 15'000, 9'000, 1'000, 0), Worked(Waits(), 10'000, 4'500, 1'000, 0));
  ExpectAtWork("its other threads use 0.9 cores");
}

TEST_F(WaitsForItsOwnTest, AComputingThreadInASampleWithoutFrames) {
  Stack(2, Worked(Waits(), 15'000, 9'000, 1'000, 0),
        Worked(WithoutFrames(100), 10'000, 4'500, 1'000, 0));
  ExpectAtWork("its other threads use 0.9 cores");
  known_.stacks.back().set_text(Worked(WithoutFrames(100), 15'000, 9'000, 1'000, 0));
  known_.stacks_earlier.back().set_text(Worked(Waits(), 10'000, 4'500, 1'000, 0));
  ExpectAtWork("its other threads use 0.9 cores");
}

TEST_F(WaitsForItsOwnTest, ComputingProcesses) {
  const auto with_pool = [](int at_ms, int cpu_ms) {
    std::string text = Worked(Waits(), at_ms, 1'000, 1'000, 0);
    for (int i = 0; i < 2; ++i) {
      text +=
          Worked(OnPython("sleeping in pipe_read, system call 0", ""), at_ms, cpu_ms, cpu_ms, 0);
    }
    return text;
  };
  Stack(2, with_pool(15'000, 6'000), with_pool(10'000, 2'000));
  ExpectAtWork("its other processes use 1.6 cores");
}

TEST_F(WaitsForItsOwnTest, TransferredData) {
  Stack(2, Worked(Waits(), 15'000, 100, 100, 2'050'000), Worked(Waits(), 10'000, 90, 90, 50'000));
  ExpectAtWork("400 kB/s of data move");
}

TEST_F(WaitsForItsOwnTest, KeepAlivesAreNotWork) {
  Stack(2, Worked(Waits(), 15'000, 300, 200, 60'000), Worked(Waits(), 10'000, 90, 90, 50'000));
  ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the barrier"));
}

TEST_F(WaitsForItsOwnTest, ALoaderThatNeedsSecondsPerSample) {
  const std::string sleeps = "sleeping in hrtimer_nanosleep, system call 230";
  Stack(2, Worked(Loads(sleeps, 102), 15'000, 100, 100, 1'200),
        Worked(Loads(sleeps, 100), 10'000, 99, 99, 1'000));
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("while 40 bytes/s of data move; 3 ranks wait"));
  // A heartbeat.
  known_.stacks.back().set_text(Worked(Loads(sleeps, 102), 15'000, 100, 100, 1'200, 200));
  ExpectWrong(testing::EndsWith("whose worker is in decode (data.py:9)"));
}

// For example, ranks of MPI poll constantly.
TEST_F(DiagnosisTest, BusyWaitingInACollectiveIsNotWork) {
  for (const uint32_t rank : {0u, 1u, 3u}) {
    Stack(rank, Worked(Collective("barrier"), 15'000, 5'000, 5'000, 0),
          Worked(Collective("barrier"), 10'000, 0, 0, 0));
  }
  Stack(2, Asleep());
  ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the barrier"));
}

// The all-reduces of PyTorch's DDP are not called by the script.
TEST_F(DiagnosisTest, WaitingForGradientsIsInACollective) {
  const std::string torch = "/opt/lib/python3.11/site-packages/torch/";
  for (const uint32_t rank : {0u, 1u, 3u}) {
    Stack(rank, OnPython("sleeping in futex_do_wait, system call 202",
                         Frame("_engine_run_backward", torch + "autograd/graph.py:744") +
                             Frame("backward", torch + "_tensor.py:521") +
                             Frame("step", "/home/me/train.py:40")));
  }
  Stack(2, Asleep());
  ExpectWrong(
      "rank 2 (host2, GPU 0) has not entered the collective in which the 3 others wait; it sleeps "
      "in load (train.py:12)");
}

TEST_F(WaitsForItsOwnTest, ASlowCheckpoint) {
  const std::string saves =
      OnPython("sleeping in folio_wait_bit_common, system call 1",
               Frame("save_all", "/home/me/train.py:60") + Frame("main", "/home/me/train.py:90"),
               100, "/ckpt/step-9.pkl");
  Stack(2, Worked(saves, 15'000, 100, 100, 12'000), Worked(saves, 10'000, 99, 99, 2'000));
  Expect(v1::JobDiagnosis::KIND_OK,
         HasSubstr("rank 2 (host2, GPU 0) writes a checkpoint in save_all (train.py), while 2.0 "
                   "kB/s of data move; 3 ranks wait for that in a collective"));
  known_.stacks.back().set_text(Worked(saves, 15'000, 100, 100, 2'000));
  ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the barrier"));
}

// As gdb and the kernel show a data loader: a rank and a process of the same command below it.
TEST_F(WaitsForItsOwnTest, WorkersOfALoaderWithoutPySpy) {
  const auto loads = [](int at_ms, int bytes, const std::string& worker, int written = 0) {
    const std::string command = " (sleeping): python3 train.py\n";
    return Worked("process 100" + command +
                      "  thread 100 (python3): sleeping in do_poll, system call 7\n    switched "
                      "100 times\n",
                  at_ms, 100, 100, 0) +
           Worked("process 101" + command + "  child of 100\n  thread 101 (python3): " + worker +
                      "\n    switched 100 times\n",
                  at_ms, 100, 100, bytes, written);
  };
  const std::string reads = "sleeping in wait_on_page_bit, system call 0\n    file: /data/shard-1";
  Stack(2, loads(15'000, 1'200, reads), loads(10'000, 1'000, reads));
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("while 40 bytes/s of data move; 3 ranks wait"));
  known_.stalled = true;  // the kernel's state alone could also be that of a collective
  for (const int written : {0, 200}) {  // 200: the child is no worker, but writes a heartbeat
    known_.stacks.back().set_text(loads(15'000, 1'000 + written, reads, written));
    const v1::JobDiagnosis still = Judge(known_);
    EXPECT_EQ(still.kind(), v1::JobDiagnosis::KIND_UNKNOWN) << still.issue().what();
  }
}

TEST_F(WaitsForItsOwnTest, AServiceMayStillAnswer) {
  const std::string file = "socket to 10.0.0.7:5432";
  const auto asks = [](const std::string& at) {
    return OnPython("sleeping in wait_woken, system call 45", Frame("judge", "/home/me/rl.py:3"),
                    100, at);
  };
  Stack(2, asks(file));
  Expect(v1::JobDiagnosis::KIND_OK,
         "nothing is wrong as far as autodist sees: rank 2 (host2, GPU 0) has not entered the "
         "barrier in which the 3 others wait; it waits at a socket in judge (rl.py:3), for "
         "10.0.0.7:5432");
  EXPECT_EQ(Judge(known_).issue().kind(), v1::Issue::KIND_WARNING);
  known_.stalled = true;
  ExpectWrong(HasSubstr("for 10.0.0.7:5432"));
  known_.stalled = false;
  for (const std::string dead : {", not accepted", ", sent again 4 times"}) {
    for (auto* looks : {&known_.stacks, &known_.stacks_earlier}) {
      looks->back().set_text(asks(file + dead));
    }
    ExpectWrong(StartsWith("rank 2 (host2, GPU 0) has not entered the barrier"));
  }
}

TEST_F(DiagnosisTest, ARankAtWorkIsTheCauseOfACertainStall) {
  OthersIn("barrier");
  Stack(2, Computes());
  known_.stalled = true;
  rank(2).clear_gpus();
  ExpectWrong(
      "rank 2 (host2) computes in forward (net.py:7); 3 ranks wait for that in a collective");
}

TEST_F(DiagnosisTest, RanksThatAllPollMayWaitForAFile) {
  for (const uint32_t rank : {0u, 1u, 2u, 3u}) {
    const auto polls = [](uint64_t switches) {
      return OnPython("sleeping in hrtimer_nanosleep, system call 230",
                      Frame("wait_for_file", "/home/me/train.py:12"), switches);
    };
    Stack(rank, polls(120), polls(100));
  }
  Expect(v1::JobDiagnosis::KIND_UNKNOWN,
         "unclear: all 4 ranks sleep in wait_for_file (train.py), as they do while they poll for a "
         "file or another program");
}

class EndedRanksTest : public DiagnosisTest {
 protected:
  void Raised(int number) {
    rank(number).set_failure("ValueError: NaN in the gradients, train.py:5");
    rank(number).set_failure_ms(kNow - 12'000);
  }
  void EndedWell(int number, int64_t ago_ms) {
    rank(number).set_state(v1::RANK_STATE_ENDED);
    rank(number).set_ended_ms(kNow - ago_ms);
  }
  static std::string CleansUp() {
    return OnPython("sleeping in futex_do_wait, system call 202",
                    Frame("wait", "/usr/lib/python3.11/threading.py:320"));
  }
};

TEST_F(EndedRanksTest, ARankThatRaisedAndHasNotEnded) {
  OthersIn("all_reduce");
  Stack(2, CleansUp());
  Raised(2);
  ExpectWrong(
      "rank 2 (host2, GPU 0) wrote an error 12 s ago and has not ended: ValueError: NaN in the "
      "gradients, train.py:5; the 3 others wait");
}

TEST_F(EndedRanksTest, ARankThatWorksOrWaitsForOthersHasSurvivedIt) {
  OthersIn("all_reduce");
  Stack(2, Computes());
  Raised(2);
  Raised(0);
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("rank 2 (host2, GPU 0) computes"));
}

TEST_F(EndedRanksTest, TheOthersMayWaitForARankThatSucceeded) {
  EndedWell(0, 15'000);
  for (const uint32_t rank : {1u, 2u, 3u}) Stack(rank, Collective("all_reduce"));
  ExpectWrong("rank 0 (host1, GPU 0) ended with 0 15 s ago; the 3 others wait in an all-reduce");
  for (const int rank : {1, 3}) EndedWell(rank, 20'000);
  known_.stacks.clear();
  known_.stacks_earlier.clear();
  Stack(2, Asleep());
  ExpectWrong(
      "rank 2 (host2, GPU 0) has not ended: it sleeps in load (train.py:12); the 3 others ended "
      "with 0, the last 15 s ago");
}

TEST_F(EndedRanksTest, ARankThatSucceededIsNoReasonIfOthersWork) {
  EndedWell(0, 15'000);
  for (const uint32_t rank : {1u, 2u, 3u}) Stack(rank, Computes());
  Expect(v1::JobDiagnosis::KIND_OK, StartsWith("nothing is wrong: all 3 ranks are at work"));
}

TEST_F(DiagnosisTest, AFailedRankIsFirst) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  rank(1).set_state(v1::RANK_STATE_FAILED);
  rank(1).set_ended("exited with code 1");
  rank(1).set_last_line("KeyError: 'label'");
  ExpectWrong("rank 1 (host1, GPU 1) exited with code 1");
}

TEST_F(DiagnosisTest, ADisconnectedNode) {
  node(1).set_phase(v1::NODE_PHASE_RECONNECTING);
  node(1).set_detail("no answer for 10 s");
  ExpectWrong("host2 does not answer, with ranks 2-3");
}

TEST_F(DiagnosisTest, AThrottledGpuComparedWithTheOthers) {
  Gpus(1005);
  known_.before->mutable_progress()->set_step(1);
  known_.now.mutable_progress()->set_step(2);
  ExpectWrong("rank 2 (host2, GPU 0) is slow: its GPU is throttled: HW power brake");
  const v1::Issue issue = Judge(known_).issue();
  EXPECT_EQ(issue.cost(), "its clock is 48.5 % below the others' median");
  EXPECT_EQ(issue.evidence(0).value(), "1,005 MHz of 1,980; the other 3: 1,935-1,980");
}

// At its power limit a working GPU always reports throttling.
TEST_F(DiagnosisTest, AGpuThatIsAsFastAsTheOthersIsNotSlow) {
  Gpus(1900);
  known_.before->mutable_progress()->set_step(1);
  known_.now.mutable_progress()->set_step(2);
  Expect(v1::JobDiagnosis::KIND_OK, "nothing is wrong: steps continue");
}

TEST_F(DiagnosisTest, AFullDisk) {
  host(1).set_disk_total(uint64_t{100} << 30);
  host(1).set_disk_free(uint64_t{10} << 20);
  ExpectWrong("host2: the disk of the working directory is full but for 10.0 MiB");
}

// A healthy program may write it, and go on.
TEST_F(DiagnosisTest, ATextAloneIsNoFullDisk) {
  rank(3).set_last_line("OSError: [Errno 28] No space left on device");
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  known_.before->mutable_progress()->set_step(1);
  known_.now.mutable_progress()->set_step(2);
  Expect(v1::JobDiagnosis::KIND_OK, "nothing is wrong: steps continue");
}

TEST_F(DiagnosisTest, TheLastLineOfTheMissingRankIsEvidence) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  rank(2).set_last_line("OSError: [Errno 28] No space left on device");
  EXPECT_EQ(Judge(known_).issue().evidence(0).value(),
            "OSError: [Errno 28] No space left on device");
}

TEST_F(DiagnosisTest, AFullDiskIsReportedWithTheWaitingRank) {
  OthersIn("all_reduce");
  Stack(2, Asleep());
  host(1).set_disk_total(uint64_t{100} << 30);
  host(1).set_disk_free(uint64_t{10} << 20);
  ExpectWrong(
      "rank 2 (host2, GPU 0) has not entered the all-reduce in which the 3 others wait; it sleeps "
      "in load (train.py:12); host2: the disk of the working directory is full but for 10.0 MiB");
  host(0).set_disk_total(1);
  host(0).set_disk_free(0);
  host(1).set_disk_free(uint64_t{50} << 30);
  ExpectWrong(testing::EndsWith("it sleeps in load (train.py:12)"));  // another node's disk
}

TEST_F(DiagnosisTest, ARankAtTheMemoryLimitOfItsControlGroup) {
  v1::RankSample& sample = *rank(2).mutable_sample();
  sample.set_memory_limit(100 << 20);
  sample.set_memory_charged(99 << 20);
  sample.set_memory_hits(500);
  sample.set_memory_stalled(0.8);
  for (uint32_t i = 0; i < 4; ++i) Stack(i, Computes());
  ExpectWrong(
      "rank 2 (host2, GPU 0) is held back at the memory limit of the control group, 100.0 MiB");
  // By files in the page cache, while there is room.
  sample.set_memory_stalled(0);
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("computes"));
  sample.set_memory_faults(5'000);
  ExpectWrong(HasSubstr("is held back at the memory limit"));
  sample.clear_memory_faults();
  // If the control group does not report it, the node does.
  sample.clear_memory_stalled();
  host(1).set_memory_pressure(0.7);
  ExpectWrong(HasSubstr("is held back at the memory limit"));
}

TEST_F(DiagnosisTest, ARankThatUsesUpItsCpuQuota) {
  for (const int i : {0, 2}) {
    rank(i).mutable_sample()->set_cpu_limit(0.2);
    rank(i).mutable_sample()->set_cpu_throttled(i == 2 ? 0.95 : 0.3);
  }
  for (uint32_t i = 0; i < 4; ++i) Stack(i, Computes());
  ExpectWrong(
      "rank 2 (host2, GPU 0) is slow: its control group may use 0.2 cores at most, which it uses "
      "up");
  *known_.before->mutable_ranks() = known_.now.ranks();
  known_.before->mutable_ranks(2)->mutable_sample()->set_cpu_throttled(0);
  Expect(v1::JobDiagnosis::KIND_OK, HasSubstr("computes"));
}

TEST_F(DiagnosisTest, AnInterfaceWithASendQueue) {
  OthersIn("all_reduce");
  Stack(2, Collective("all_reduce"));
  v1::InterfaceSample& now = *node(1).mutable_sample()->add_interfaces();
  now.set_name("eth0");
  now.set_sent(125'000);
  now.set_queued(50'000);
  *known_.before->mutable_nodes(1)->mutable_sample() = node(1).sample();
  ExpectWrong(
      "host2: its network interface eth0 is slow: it sends 1,000 kbit/s, and more waits to "
      "be sent");
  // At its current rate that is sent soon.
  now.set_sent(1e9);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, HasSubstr("same operation"));
  now.set_sent(125'000);
  known_.before->mutable_nodes(1)->mutable_sample()->mutable_interfaces(0)->set_queued(0);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, HasSubstr("same operation"));
}

TEST_F(DiagnosisTest, LastingMemoryPressure) {
  host(0).set_memory_pressure(0.6);
  *known_.before->mutable_nodes(0)->mutable_sample() = node(0).sample();
  ExpectWrong("host1: its processes wait for memory");
  known_.before->mutable_nodes(0)->mutable_sample()->mutable_host()->set_memory_pressure(0);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, CoresUsedByAnotherProgram) {
  host(1).set_cores(8);
  host(1).set_cpu(1);
  for (const int i : {2, 3}) rank(i).mutable_sample()->set_cpu(0.9);
  ExpectWrong("host2: other programs use 6.2 cores of 8");
  host(1).set_cpu_pressure(0.01);  // a core is free for each
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  host(1).set_cpu_pressure(0.2);
  ExpectWrong(HasSubstr("other programs use"));
  *known_.before = known_.now;  // before gdb held them
  for (const int i : {2, 3}) known_.before->mutable_ranks(i)->mutable_sample()->set_cpu(3.9);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
  known_.before->clear_ranks();
  for (const int i : {2, 3}) rank(i).mutable_sample()->set_cpu(3.9);
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, ARankWithALimitedCpu) {
  for (int i = 0; i < 4; ++i) {
    rank(i).mutable_sample()->set_cpu(i == 2 ? 0.2 : 1);
    rank(i).mutable_sample()->set_state("R");
  }
  host(1).set_cpu(0.3);
  rank(2).mutable_sample()->set_cpu_awaited(0.7);
  *known_.before->mutable_ranks() = known_.now.ranks();
  const auto held_back = [&](const std::string& by = "") {
    const v1::Issue issue = Judge(known_).issue();
    return std::ranges::any_of(issue.evidence(), [&](const v1::Evidence& one) {
      return one.what() == "besides" &&
             one.value() ==
                 "rank 2 (host2, GPU 0) gets 0.2 cores though it is always ready to run" + by;
    });
  };
  EXPECT_FALSE(held_back());  // the same sample, seen twice
  node(1).mutable_sample()->set_time_ns(1);
  EXPECT_TRUE(held_back());
  // A coincidence in both samples.
  rank(2).mutable_sample()->set_cpu_awaited(0.1);
  EXPECT_FALSE(held_back());
  rank(2).mutable_sample()->set_cpu_awaited(0.7);
  // It waits like all others.
  known_.before->mutable_ranks(2)->mutable_sample()->set_state("S");
  EXPECT_FALSE(held_back());
  known_.before->mutable_ranks(2)->mutable_sample()->set_state("R");
  // It is no fault of the job.
  OthersIn("barrier");
  Stack(2, "other program: python3 other.py (process 4711) uses 0.9 cores\n" + Computes());
  Expect(v1::JobDiagnosis::KIND_OK,
         "nothing is wrong as far as autodist sees: rank 2 (host2, GPU 0) computes in forward "
         "(net.py:7); 3 ranks wait for that in a collective");
  EXPECT_TRUE(held_back(": python3 other.py (process 4711) uses 0.9 cores"));
}

TEST_F(DiagnosisTest, IfAllRanksAreThrottledNoneIsBlamed) {
  for (int i = 0; i < 4; ++i) {
    rank(i).mutable_sample()->set_cpu(0.4);
    rank(i).mutable_sample()->set_state("R");
    rank(i).mutable_sample()->set_cpu_awaited(0.5);
  }
  *known_.before->mutable_ranks() = known_.now.ranks();
  for (int i = 0; i < 2; ++i) {
    host(i).set_cpu(0.3);
    node(i).mutable_sample()->set_time_ns(1);
  }
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, StartsWith("unclear: "));
}

TEST_F(DiagnosisTest, AnInterfaceThatIsSlowerThanTheOthers) {
  for (int i = 0; i < 2; ++i) {
    v1::InterfaceSample& one = *node(i).mutable_sample()->add_interfaces();
    one.set_name("eth0");
    one.set_speed(i == 1 ? 100'000'000 : 10'000'000'000);
  }
  ExpectWrong("host2: its network interface eth0 runs at 100 Mbit/s only");
}

TEST_F(DiagnosisTest, WithoutDataTheCauseIsUnclear) {
  known_ = {};
  Expect(v1::JobDiagnosis::KIND_UNKNOWN, "unclear: no data on what the ranks are doing");
}

TEST(JudgeEndedTest, TheReportHasTheCause) {
  v1::JobStatus job;
  job.set_exit_code(9);
  job.set_report("rank 1 on host1 exited with code 9\n    | KeyError");
  const v1::JobDiagnosis diagnosis = JudgeEnded(job, {});
  EXPECT_EQ(diagnosis.kind(), v1::JobDiagnosis::KIND_ISSUE);
  EXPECT_EQ(diagnosis.issue().what(), "rank 1 on host1 exited with code 9");
  EXPECT_EQ(diagnosis.issue().evidence_size(), 2);
  job.set_exit_code(0);
  EXPECT_EQ(JudgeEnded(job, {}).kind(), v1::JobDiagnosis::KIND_OK);
}

TEST(JudgeEndedTest, OfATracebackTheLastLineIsEvidence) {
  v1::JobStatus job;
  job.set_exit_code(1);
  std::string report = "rank 2 on host2 exited with code 1: KeyError: 'x', train.py:7\n";
  for (int i = 0; i < 20; ++i) report += "    |   File \"/x/torch/a.py\", line 1\n";
  job.set_report(report + "    | KeyError: 'x'\n  all it wrote: logs/rank-2.err\n  hint: do\n");
  const v1::JobDiagnosis diagnosis = JudgeEnded(job, {});
  ASSERT_EQ(diagnosis.issue().evidence_size(), 4);
  EXPECT_EQ(diagnosis.issue().evidence(1).value(), "| KeyError: 'x'");
  EXPECT_EQ(diagnosis.issue().evidence(2).value(), "all it wrote: logs/rank-2.err");
  EXPECT_EQ(diagnosis.issue().evidence(3).value(), "hint: do");
}

TEST(ActivityTest, GlooOfPyTorchInGdbWaitsInASeparateThread) {
  const std::string gdb =
      "process 7 (sleeping): train\n  thread 7 (train): sleeping in futex_do_wait, system call "
      "202\n"
      "  user-space stacks by gdb:\n    Thread 2 (Thread 0x7f1 (LWP 8) \"train\"):\n"
      "    #0  0x01 in gloo::transport::tcp::UnboundBuffer::waitRecv(int*) () from "
      "/lib/libgloo.so.0\n"
      "    #1  0x02 in gloo::(anonymous namespace)::ring(gloo::(anonymous namespace)::Options "
      "const&) ()\n"
      "    #2  0x03 in gloo::allreduce(gloo::AllreduceOptions const&) () from /lib/libgloo.so.0\n"
      "    #3  0x04 in c10d::ProcessGroupGloo::runLoop(int) () from /lib/libtorch_cpu.so\n"
      "    Thread 1 (Thread 0x7f2 (LWP 7) \"train\"):\n"
      "    #0  0x05 in c10d::Work::wait(std::chrono::duration<long>) () from /lib/libtorch_cpu.so\n"
      "    #1  0x06 in _PyEval_EvalFrameDefault ()\n";
  const Activity activity = OnlyActivity(gdb, "");
  EXPECT_EQ(activity.doing, Doing::kCollective);
  EXPECT_EQ(activity.collective, "all-reduce");
  EXPECT_EQ(activity.source, "gdb, /proc");
}

// The first rank waits until all others have connected.
TEST(ActivityTest, AStoreOfPyTorchInGdbWaitsForTheOtherRanks) {
  const Activity activity = OnlyActivity(
      "process 7 (sleeping): train\n  thread 7 (train): sleeping in hrtimer_nanosleep, system call "
      "230\n"
      "  user-space stacks by gdb:\n    Thread 1 (LWP 7):\n"
      "    #0  0x01 in clock_nanosleep () from /lib/libc.so.6\n"
      "    #1  0x02 in c10d::TCPStore::waitForWorkers() () from /lib/libtorch_cpu.so\n",
      "");
  EXPECT_EQ(activity.collective, "init_process_group");
}

TEST(ActivityTest, NativeCollectives) {
  const auto of = [](const std::string& function) {
    return OnlyActivity(
               "process 7 (running): x\n  thread 7 (x): running\n  user-space stacks by gdb:\n"
               "    Thread 1 (LWP 7):\n    #0  0x1 in " +
                   function + "\n    #1  0x2 in main ()\n",
               "")
        .collective;
  };
  EXPECT_EQ(of("PMPI_Allreduce () from /lib/libmpi.so.40"), "all-reduce");
  EXPECT_EQ(of("MPI_Barrier () from /lib/libmpi.so.40"), "barrier");
  EXPECT_EQ(of("ncclReduceScatter () from /lib/libnccl.so.2"), "reduce-scatter");
  EXPECT_EQ(of("autodist::Communicator::AllReduce(void*, unsigned long, autodist::DataType) ()"),
            "all-reduce");
  EXPECT_EQ(of("autodist::Status autodist::(anonymous namespace)::GlooCommunicator::Guard<x::"
               "AllReduce(int)::{lambda()#1}>(char const*) ()"),
            "");
  EXPECT_EQ(of("mine::broadcast(int) ()"), "");
}

TEST(ActivityTest, ALockInNativeFrames) {
  const Activity activity = OnlyActivity(
      "process 7 (sleeping): x\n  thread 7 (x): sleeping in futex_do_wait, system call 202\n"
      "  user-space stacks by gdb:\n    Thread 1 (LWP 7):\n"
      "    #0  futex_wait (x=1) at ../sysdeps/nptl/futex-internal.h:146\n"
      "    #1  __GI___lll_lock_wait (x=1) at ./nptl/lowlevellock.c:49\n"
      "    #2  0x1 in ___pthread_mutex_lock (mutex=0x1) at ./nptl/pthread_mutex_lock.c:93\n"
      "    #2  0x2 in std::mutex::lock (this=0x1) at /usr/include/c++/12/bits/std_mutex.h:100\n"
      "    #3  0x2 in Queue::Push (this=0x1) at /home/me/queue.cc:31\n",
      "/home/me");
  EXPECT_EQ(activity.doing, Doing::kLock);
  EXPECT_EQ(activity.words, "waits for a lock in Queue::Push (queue.cc:31)");
}

TEST(ActivityTest, ACheckpointInNativeFrames) {
  const Activity activity = OnlyActivity(
      "process 7 (sleeping): x\n  thread 7 (x): sleeping in hrtimer_nanosleep, system call 230\n"
      "  user-space stacks by gdb:\n    Thread 1 (LWP 7):\n"
      "    #0  0x1 in clock_nanosleep () from /lib/libc.so.6\n"
      "    #1  0x2 in mz_zip_writer_add_mem_ex_v2 () from /lib/libtorch_cpu.so.1.13\n"
      "    #2  0x3 in caffe2::serialize::PyTorchStreamWriter::writeRecord () from /lib/x.so\n",
      "");
  EXPECT_EQ(activity.doing, Doing::kCheckpoint);
  EXPECT_TRUE(activity.AtWork());
}

TEST(ActivityTest, FramesReplaceMissingKernelData) {
  EXPECT_EQ(OnlyActivity("process 7 (sleeping): x\n  thread 7 (x): sleeping, system call 230\n"
                         "  user-space stacks by gdb:\n    Thread 1 (LWP 7):\n"
                         "    #0  __GI___clock_nanosleep (x=1) at ../sysdeps/clock_nanosleep.c:71\n"
                         "    #1  0x2 in Wait () at a.cc:3\n",
                         "")
                .words,
            "sleeps in Wait (a.cc:3)");
}

TEST(ActivityTest, TheFileBeingReadIsNamed) {
  EXPECT_EQ(OnlyActivity(OnPython("sleeping in anon_pipe_read, system call 0",
                                  Frame("load", "/home/me/data.py:3"), 1, "/data/x\x1b[2J"),
                         "/home/me")
                .words,
            "reads from /data/x\\x1b[2J in load (data.py:3)");
  EXPECT_EQ(OnlyActivity(OnPython("disk sleep in rpc_wait_bit_killable, system call 0",
                                  Frame("load", "/home/me/data.py:3"), 1, "/nfs/x"),
                         "/home/me")
                .words,
            "is in uninterruptible sleep (state D) in load (data.py:3), with /nfs/x");
}

TEST(ActivityTest, TheOtherEndOfASocket) {
  const auto of = [](const std::string& file) {
    return OnlyActivity(OnPython("sleeping in wait_woken, system call 45",
                                 Frame("load", "/home/me/data.py:3"), 1, file),
                        "/home/me")
        .words;
  };
  EXPECT_EQ(of("socket:[77]"), "waits at a socket in load (data.py:3)");
  EXPECT_EQ(of("socket to 10.0.0.7:80"), "waits at a socket in load (data.py:3), for 10.0.0.7:80");
  EXPECT_EQ(
      of("socket to 10.0.0.7:80, sent again 4 times"),
      "waits at a socket in load (data.py:3), for 10.0.0.7:80, which does not answer: what it "
      "has sent was sent again 4 times");
}

// Ranks are compared by the depth of their stacks only if they run the same program.
TEST(ActivityTest, TheProgramIsNamedWithoutItsOptions) {
  const struct {
    const char* command;
    const char* program;
  } kCases[] = {
      {"python3 train.py --rank 3", "python3 train.py"},
      {"python3 -u server.py", "python3 server.py"},
      {"/usr/bin/python3 -X dev -W ignore -Wdefault -u -B train.py", "/usr/bin/python3 train.py"},
      {"python3 -m train --rank 3", "python3 -m train"},
      {"python3 -um train", "python3 -m train"},
      {"python3 -u -mtrain 3", "python3 -m train"},
      {"python3 -c 'import train' 3", "python3"},
      {"python3 -u -", "python3"},
      {"python3 - --rank 3", "python3"},
      {"python3 --check-hash-based-pycs=always train.py", "python3 train.py"},
      {"python3 -X", "python3"},
      {"python3", "python3"},
      {"./train --rank 3", "./train"},
      {"./train -m 3", "./train"},
      {"./train config", "./train config"},
      {"", ""},
  };
  for (const auto& one : kCases) {
    const std::string text =
        "process 7 (sleeping): " + std::string(one.command) + "\n  thread 7 (x): sleeping\n";
    EXPECT_EQ(OnlyActivity(text, "").program, one.program) << one.command;
  }
}

// Data from nodes is untrusted.
TEST(ActivityTest, InvalidStacksAreHandled) {
  for (const std::string text :
       {"", "process", "process 1 has ended\n", "process \n  thread \n    switched x times\n",
        "process 1\n  thread 1 (x): stopped\n    switched 99999999999999999999 times\n",
        "process 1\n  user-space stacks by py-spy:\n    Thread 1 \"MainThread\"\n      (\n"}) {
    EXPECT_NE(OnlyActivity(text, "").words, "") << text;
  }
}

TEST_F(DiagnosisTest, IfSomeRanksAreUnknownNoDiagnosisCoversAll) {
  for (const uint32_t rank : {0u, 1u, 2u}) Stack(rank, Collective("all_reduce"));
  Expect(v1::JobDiagnosis::KIND_UNKNOWN,
         "unclear: no data on 1 rank of 4; the others wait in collectives");
}

TEST_F(DiagnosisTest, AStartingJobIsReportedWithWhatItWaitsFor) {
  known_.now.mutable_job()->set_phase(v1::JOB_PHASE_RESTARTING);
  node(1).set_detail("Connection refused");
  const v1::JobDiagnosis diagnosis = JudgeStarting(known_.now);
  EXPECT_EQ(diagnosis.kind(), v1::JobDiagnosis::KIND_UNKNOWN);
  EXPECT_EQ(diagnosis.issue().what(), "unclear: the job is being started again");
  ASSERT_EQ(diagnosis.issue().evidence_size(), 1);
  EXPECT_EQ(diagnosis.issue().evidence(0).what(), "host2");
}

}  // namespace
}  // namespace autodist::why
