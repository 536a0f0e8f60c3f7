#include "chief/attempt/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "chief/start/prepared_text.h"
#include "support/plans.h"
#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;
using testing::Not;

class EndReportTest : public testing::Test {
 protected:
  EndReportTest() { attempt_.logs = *RankLogs::Create(attempt_.plan(), folder_.path(), {}); }

  void Write(const v1::Output& output) { attempt_.logs->Take(output, {}, screen_); }
  std::string Report() { return EndReport(attempt_, {}); }
  static v1::Output Line(uint32_t rank, const std::string& line,
                         v1::OutputStream stream = v1::OUTPUT_STREAM_STDOUT) {
    v1::Output output;
    output.set_rank(rank);
    output.set_stream(stream);
    output.set_data(line);
    return output;
  }

  const test::TempFolder folder_;
  display::Screen screen_;  // not updated
  const SharedPlan plan_ = std::make_shared<v1::LaunchPlan>(test::ThreeNodePlan());
  Attempt attempt_{1, plan_, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
};

TEST_F(EndReportTest, NamesTheFailedRankItsLastLinesAndTheOthers) {
  Write(Line(4, "boom\n"));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_pid(99);
  exit.set_signal(SIGSEGV);
  exit.set_core_dumped(true);
  attempt_.state().RankExited(exit);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    v1::RankExited other;
    other.set_rank(rank);
    other.set_signal(rank < 3 ? SIGUSR1 : SIGKILL);
    attempt_.state().RankExited(other);
  }
  EXPECT_EQ(Report(),
            "rank 4 on node3 (pid 99) was ended by SIGSEGV (core dumped)\n"
            "  its last line on stdout:\n"
            "    | boom\n"
            "  all it wrote: logs/restart-1/rank-4.out and .err\n"
            "  other ranks: 3 ended on SIGUSR1, 1 needed SIGKILL");
}

TEST_F(EndReportTest, AFaultyGpuIsTheFirstCause) {
  v1::AgentEvent event;
  v1::RankExited& exit = *event.mutable_rank_exited();
  exit.set_rank(4);
  exit.set_pid(99);
  exit.set_exit_code(1);
  attempt_.Take(2, event);
  v1::AgentEvent other;
  other.mutable_rank_exited()->set_rank(0);
  other.mutable_rank_exited()->set_signal(SIGUSR1);
  v1::GpuError& error = *other.mutable_rank_exited()->add_gpu_errors();
  error.set_xid(79);
  error.set_needs_repair(true);
  error.set_address("0000:3b:00");
  error.set_gpu(1);
  attempt_.Take(0, other);
  EXPECT_EQ(Report(),
            "GPU 1 of rank 0 on 10.0.0.1 fell off the bus (XID 79): restart the node; if it "
            "happens again, have the GPU replaced\n"
            "  because of it, rank 4 on node3 (pid 99) exited with code 1\n"
            "  it wrote nothing\n"
            "  other ranks: 1 ended on SIGUSR1, 3 may still run");
  EXPECT_EQ(DescribeCauseInOneLine(attempt_),
            "GPU 1 of rank 0 on 10.0.0.1 fell off the bus (XID 79): restart the node; if it "
            "happens again, have the GPU replaced; because of it, rank 4 on node3 exited with code "
            "1");
}

// On GPUs 1 and 3 of node 0, and on CPUs of the others.
TEST_F(EndReportTest, AFaultOfWhatTheJobDoesNotUseIsNoCause) {
  struct Row {
    uint32_t node;
    uint32_t xid;
    std::optional<uint32_t> gpu;
    bool counts;
  };
  const Row rows[] = {{0, 79, 7, false},  {0, 74, 7, false}, {1, 79, 0, false}, {2, 79, 0, false},
                      {0, 79, {}, false}, {0, 79, 3, true},  {0, 74, 3, true}};
  for (const Row& row : rows) {
    Attempt attempt{1, plan_, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
    v1::AgentEvent event;
    v1::RankExited& exit = *event.mutable_rank_exited();
    exit.set_rank(attempt.member_plan(row.node).ranks(0).rank());
    exit.set_exit_code(1);
    v1::GpuError& error = *exit.add_gpu_errors();
    error.set_xid(row.xid);
    error.set_needs_repair(true);
    if (row.gpu) error.set_gpu(*row.gpu);
    attempt.Take(row.node, event);
    const bool is_cause =
        FaultyGpuBehind(*attempt.state().cause(), attempt.gpu_errors()) != nullptr;
    EXPECT_EQ(is_cause, row.counts) << row.node << " " << row.xid << " " << row.gpu.value_or(99);
  }
}

TEST_F(EndReportTest, AnNvlinkErrorConcernsOnlyANodeWithSeveralRanksGpus) {
  v1::NodePlan node;
  v1::GpuError error;
  error.set_gpu(1);
  error.set_xid(74);
  for (const bool expected : {false, true}) {
    v1::Device& device = *node.add_devices();
    device.set_kind(v1::DEVICE_KIND_GPU);
    device.set_index(static_cast<uint32_t>(node.devices_size()));
    EXPECT_EQ(Concerns(node, error), expected);
  }
}

TEST_F(EndReportTest, AFaultyGpuIsNotBehindAnEndFromOutside) {
  const NodeGpuError error = {0, [] {
                                v1::GpuError one;
                                one.set_needs_repair(true);
                                return one;
                              }()};
  for (const auto& [kind, behind] :
       {std::pair(Cause::Kind::kRankFailed, true), std::pair(Cause::Kind::kHung, true),
        std::pair(Cause::Kind::kInterrupted, false), std::pair(Cause::Kind::kTimedOut, false),
        std::pair(Cause::Kind::kNodeLost, false)}) {
    Cause cause;
    cause.kind = kind;
    EXPECT_EQ(FaultyGpuBehind(cause, {error}) != nullptr, behind);
  }
}

TEST_F(EndReportTest, AnErrorOfItsGpuMayExplainHowARankEnded) {
  v1::AgentEvent event;
  v1::RankExited& exit = *event.mutable_rank_exited();
  exit.set_rank(0);
  exit.set_pid(99);
  exit.set_exit_code(1);
  v1::GpuError& error = *exit.add_gpu_errors();
  error.set_xid(31);
  error.set_address("0000:3b:00");
  error.set_gpu(1);
  error.set_unit("GPC 1, client T1_4");
  attempt_.Take(0, event);
  EXPECT_EQ(Report(),
            "rank 0 on 10.0.0.1 (pid 99) exited with code 1\n"
            "  GPU 1 of rank 0 on 10.0.0.1 reported a page fault of a program (XID 31, GPC 1, "
            "client T1_4)\n"
            "  it wrote nothing");
}

TEST_F(EndReportTest, TheFirstFailureIsBeforeItsConsequences) {
  const std::string traceback =
      "Traceback (most recent call last):\n"
      "  File \"/work/train.py\", line 5, in main\n"
      "KeyError: 'label'\n";
  Write(Line(1, traceback, v1::OUTPUT_STREAM_STDERR));
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Connection closed by peer\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_pid(99);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_EQ(
      DescribeCauseInOneLine(attempt_),
      "rank 1 on 10.0.0.1: KeyError: 'label', train.py:5; because of it, rank 4 on node3 exited "
      "with code 1");
  EXPECT_EQ(
      Report(),
      "rank 1 on 10.0.0.1: KeyError: 'label', train.py:5\n"
      "    | Traceback (most recent call last):\n"
      "    |   File \"/work/train.py\", line 5, in main\n"
      "    | KeyError: 'label'\n"
      "  all it wrote: logs/restart-1/rank-1.out and .err\n"
      "  because of it, rank 4 on node3 (pid 99) exited with code 1: RuntimeError: Connection "
      "closed by peer, train.py:6");
}

TEST_F(EndReportTest, ARankThatSucceededBeforeAComplaintIsNamed) {
  Write(Line(1, "step 3/10\n"));
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Connection reset by peer\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(1);
  exit.set_exit_code(0);
  exit.set_time_ns(1'000'000'000);
  attempt_.state().RankExited(exit);
  exit.set_rank(4);
  exit.set_exit_code(1);
  exit.set_time_ns(3'000'000'000);
  attempt_.state().RankExited(exit);
  const std::string report = Report();
  EXPECT_EQ(report.find("rank 1 on 10.0.0.1 ended with 0 while others went on"), 0) << report;
  EXPECT_NE(report.find(", 2 s before\n  all it wrote: logs/restart-1/rank-1.out and .err\n"
                        "  because of it, rank 4 on node3 exited with code 1: "
                        "RuntimeError: Connection reset by peer"),
            std::string::npos)
      << report;
  EXPECT_NE(DescribeCauseInOneLine(attempt_).find(", 2 s before; because of it, rank 4 on node3 "),
            std::string::npos);
}

TEST_F(EndReportTest, AMissingRankIsNamedBeforeThoseThatGaveUp) {
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Timed out waiting 1800000ms for recv operation to complete\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(MayBeMissing(attempt_));
  attempt_.missing = "rank 1 (10.0.0.1) sleeps in load (train.py:12)";
  EXPECT_EQ(Report().find("rank 1 (10.0.0.1) sleeps in load (train.py:12), while others waited for "
                          "it\n  because of it, rank 4 on node3 exited with code 1: RuntimeError: "
                          "Timed out waiting"),
            0)
      << Report();
}

TEST_F(EndReportTest, TheMessageOfARunningRankCountsWhenItsTextHasArrived) {
  const std::string terminate =
      "terminate called after throwing an instance of 'c10::DistBackendError'\n";
  const auto write = [&](uint32_t rank, const std::string& text) {
    Write(Line(rank, text, v1::OUTPUT_STREAM_STDERR));
  };
  write(1, terminate);
  write(4, terminate + "  what():  Watchdog caught collective operation timeout\n");
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_signal(SIGABRT);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(MayBeMissing(attempt_));
  write(1, "  what():  Watchdog caught collective operation timeout\n");
  EXPECT_TRUE(MayBeMissing(attempt_));
  write(0, terminate + "  what():  shard 7 is cut off\n");
  EXPECT_FALSE(MayBeMissing(attempt_));
}

TEST_F(EndReportTest, ASingleOtherRankIsNotSaidToBeSeveral) {
  v1::LaunchPlan plan = *plan_;
  plan.set_world_size(2);
  Attempt of_two(1, std::make_shared<v1::LaunchPlan>(plan), {0, 1, 2}, "logs", SIGUSR1,
                 std::chrono::seconds(30), {});
  of_two.logs = attempt_.logs;
  of_two.missing = "rank 1 (10.0.0.1) sleeps in load (train.py:12)";
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Timed out waiting 1800000ms for recv operation to complete\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  of_two.state().RankExited(exit);
  EXPECT_THAT(EndReport(of_two, {}),
              HasSubstr("(train.py:12), while the other rank waited for it\n"));
}

TEST_F(EndReportTest, TheFatalMessageIsFirstAndTheNoiseIsAfterIt) {
  const std::string traceback =
      "Traceback (most recent call last):\n"
      "  File \"/work/train.py\", line 41, in main\n"
      "TypeError: no \x07layer\n";
  Write(
      Line(4, traceback + "node3:1:2 [0] NCCL INFO comm 0x1 rank 4\n\n", v1::OUTPUT_STREAM_STDERR));
  Write(Line(4, "step 3\n"));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_pid(99);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_EQ(DescribeCauseInOneLine(attempt_),
            "rank 4 on node3 exited with code 1: TypeError: no \\x07layer, train.py:41");
  EXPECT_EQ(Report(),
            "rank 4 on node3 (pid 99) exited with code 1: TypeError: no \\x07layer, "
            "train.py:41\n"
            "    | Traceback (most recent call last):\n"
            "    |   File \"/work/train.py\", line 41, in main\n"
            "    | TypeError: no \x07layer\n"
            "  its other last line on stderr:\n"
            "    | node3:1:2 [0] NCCL INFO comm 0x1 rank 4\n"
            "  its last line on stdout:\n"
            "    | step 3\n"
            "  all it wrote: logs/restart-1/rank-4.out and .err");
}

TEST_F(EndReportTest, FramesOfPackagesAreOnlyCounted) {
  const std::string begin =
      "Traceback (most recent call last):\n"
      "[rank4]:   File \"/work/train.py\", line 41, in main\n"
      "[rank4]:     loss = model(x)\n";
  const std::string packages =
      "[rank4]:   File \"/v/lib/python3.11/site-packages/torch/nn/module.py\", line 9, in call\n"
      "[rank4]:     return forward(*args)\n"
      "[rank4]:            ^^^^^^^^^^^^^^\n"
      "[rank4]:   File \"/v/lib/python3.11/site-packages/torch/nn/linear.py\", line 8, in f\n";
  Write(Line(4, "[rank4]: " + begin + packages + "[rank4]: RuntimeError: shapes\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_NE(Report().find("    | [rank4]:     loss = model(x)\n"
                          "    |     ... 4 lines of packages\n"
                          "    | [rank4]: RuntimeError: shapes\n"
                          "  all it wrote: "),
            std::string::npos)
      << Report();
}

TEST_F(EndReportTest, AFatalMessageIsNotTheReasonForAnExternalKill) {
  Write(Line(4, "CUDA error: survived\n", v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_signal(SIGKILL);
  attempt_.state().RankExited(exit);
  EXPECT_EQ(
      Report(),
      "rank 4 on node3 was ended by SIGKILL, not by autodist; perhaps out of memory: see dmesg "
      "on the node\n"
      "  its last line on stderr:\n"
      "    | CUDA error: survived\n"
      "  all it wrote: logs/restart-1/rank-4.out and .err");
}

TEST_F(EndReportTest, ALostNodeIsNamedWithItsCause) {
  attempt_.state().NodeLost(1, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_EQ(Report(), "node 10.0.0.2 was lost: cut off");
}

TEST_F(EndReportTest, AClosedTerminalIsNamed) {
  attempt_.state().Interrupted(SIGHUP);
  EXPECT_EQ(Report(), "stopped by SIGHUP (as when the terminal is closed)");
}

TEST_F(EndReportTest, ReasonsOfLossesCanBeLeftOut) {
  EXPECT_TRUE(attempt_.NodeLost(1, Error(StatusCode::kUnavailable, "no answer: timed out")));
  attempt_.NodeLost(2, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_EQ(Report(),
            "node 10.0.0.2 was lost: no answer: timed out\n  then node node3 was lost: cut off");
  EXPECT_EQ(WithoutReasonsOfLosses(Report(), attempt_),
            "node 10.0.0.2 was lost\n  then node node3 was lost");
  EXPECT_EQ(DescribeCauseInOneLine(attempt_), "node 10.0.0.2 was lost: no answer: timed out");
}

TEST_F(EndReportTest, RanksOfOneLostNodeAreNotOnSeveral) {
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  exit.set_rank(0);
  exit.set_signal(attempt_.state().stop_signal());
  attempt_.state().RankExited(exit);
  attempt_.NodeLost(1, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_THAT(Report(), HasSubstr(" were on a lost node"));
  attempt_.NodeLost(0, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_THAT(Report(), HasSubstr(" were on lost nodes"));
}

TEST_F(EndReportTest, WhatFollowedTheCauseIsNamedInOrder) {
  const Status why = Error(StatusCode::kUnavailable, "cut off");
  JobState& state = attempt_.state();
  state.TimedOut();
  for (const uint32_t node : {1u, 2u, 0u}) state.NodeLost(node, why);
  state.Interrupted(SIGINT);  // no rank is left
  EXPECT_EQ(Report(),
            "stopped: --timeout expired\n"
            "  then node 10.0.0.2 was lost: cut off; so were 2 other nodes\n"
            "  then stopped by SIGINT");
}

TEST_F(EndReportTest, ANodeThatIsLostAfterItsEvictionIsNamedOnce) {
  const Status why = Error(StatusCode::kUnavailable, "its pod was deleted or evicted");
  attempt_.state().NodeEvicted(1, why);
  attempt_.state().NodeLost(1, why);
  EXPECT_EQ(Report(), "node 10.0.0.2 was lost: its pod was deleted or evicted");
}

TEST_F(EndReportTest, LostOutputIsReportedEvenIfAllRanksSucceeded) {
  v1::Output lost;
  lost.set_rank(2);
  lost.set_stream(v1::OUTPUT_STREAM_STDOUT);
  lost.set_lost(70'000);
  lost.set_lost_because("the disk is broken");
  Write(lost);
  EXPECT_EQ(Report(),
            "the job ended with warnings:\n"
            "  70000 bytes that rank 2 wrote are lost: the disk is broken");
}

TEST_F(EndReportTest, ASuccessHasNoReport) { EXPECT_EQ(Report(), ""); }

TEST_F(EndReportTest, ARankThatWasStoppedIsNotSaidToHaveEndedByItself) {
  attempt_.state().Interrupted(SIGINT);
  for (uint32_t rank = 0; rank < 5; ++rank) {
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_exit_code(0);
    exit.set_signalled(SIGUSR1);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(Report(), "stopped by SIGINT\n  all ranks exited after SIGUSR1");
}

TEST_F(EndReportTest, ATracebackAtTheEndOfASuccessIsReported) {
  const std::string traceback =
      "Traceback (most recent call last):\n"
      "  File \"/work/train.py\", line 5, in main\n"
      "RuntimeError: CUDA out of memory\n"
      "experiment is done\n";
  for (const uint32_t rank : {1u, 4u}) Write(Line(rank, traceback, v1::OUTPUT_STREAM_STDERR));
  Write(Line(2, traceback, v1::OUTPUT_STREAM_STDERR));
  Write(Line(2, "iteration 200/ 1000 | lm loss: 2.3 |\n"));  // it was survived
  for (uint32_t rank = 0; rank < 5; ++rank) {
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_exit_code(0);
    exit.set_time_ns(attempt_.logs->LastReport(1).failure_ms * 1'000'000);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(
      Report(),
      "rank 1 on 10.0.0.1 ended with 0 after RuntimeError: CUDA out of memory, train.py:5; so "
      "did 1 other rank");
}

TEST_F(EndReportTest, ATracebackThatTheLastStepsMayHaveFollowedIsNotReported) {
  struct Row {
    uint32_t rank;
    std::string step;
    uint64_t read_ms;
  };
  for (const auto& [rank, step, read_ms] :
       {Row{1, "200", 1'050}, Row{2, "999", 1'001}, Row{3, "200", 1'001}}) {
    v1::Output output = Line(rank, "iteration " + step + "/ 1000 | lm loss: 2.3 |\n");
    output.set_read_ms(1'000);
    Write(output);
    output = Line(rank,
                  "Traceback (most recent call last):\n"
                  "  File \"/work/train.py\", line 5, in main\n"
                  "KeyError: 'label'\n",
                  v1::OUTPUT_STREAM_STDERR);
    output.set_read_ms(read_ms);
    Write(output);
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_exit_code(0);
    exit.set_time_ns(attempt_.logs->LastReport(rank).failure_ms * 1'000'000);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(Report(),
            "rank 1 on 10.0.0.1 ended with 0 after KeyError: 'label', train.py:5; so did 1 other "
            "rank");
}

TEST_F(EndReportTest, AProgramThatWasKilledBelowAShellIsReportedAfterASuccess) {
  Write(Line(1, "train.sh: line 3:  4711 Killed                  python3 train.py\n",
             v1::OUTPUT_STREAM_STDERR));
  Write(Line(2, "Segmentation fault (core dumped)\n", v1::OUTPUT_STREAM_STDERR));
  Write(Line(2, "iteration 200/ 1000 | lm loss: 2.3 |\n"));  // it was started again
  Write(Line(3, "Terminated\n"));                            // not by a shell
  for (const uint32_t rank : {1u, 2u, 3u}) {
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_exit_code(0);
    exit.set_time_ns((attempt_.logs->LastReport(1).failure_ms + 3'600'000) * 1'000'000);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(Report(),
            "rank 1 on 10.0.0.1 ended with 0 after its shell wrote: train.sh: line 3: 4711 Killed "
            "python3 train.py");
}

TEST_F(EndReportTest, TheExitCodeOfAShellIsExplainedOnce) {
  const char kWrote[] = "train.sh: line 3:  4711 Killed                  python3 train.py\n";
  Write(Line(4, kWrote, v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(137);
  exit.set_oom_kills(0);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(Report().starts_with(
      "rank 4 on node3 exited with code 137 (128 + 9: a program that it started was ended by "
      "SIGKILL, not by autodist or the kernel's out-of-memory killer)\n  its last line on "
      "stderr:\n"
      "    | train.sh: line 3:"))
      << Report();
}

// MeaningOfExitCode has no text for SIGTERM.
TEST_F(EndReportTest, AnExitCodeWithoutAMeaningHasTheShellsMessage) {
  Write(Line(4, "Terminated\n", v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(143);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(Report().starts_with("rank 4 on node3 exited with code 143: Terminated\n"))
      << Report();
}

// Rank 1 ends with 0 after 1 s, and rank 4 fails after 3 s because it misses a peer.
TEST_F(EndReportTest, TheLaterOfALossAndAnEndWithZeroIsTheCause) {
  struct Row {
    uint32_t node;
    int64_t last_contact_s;
    const char* begin;
  };
  const Row rows[] = {{1, 2, "node 10.0.0.2 was lost"},
                      {1, 0, "rank 1 on 10.0.0.1 ended with 0 "},
                      {1, 20, "rank 1 on 10.0.0.1 ended with 0 "},  // its ranks did not end
                      {2, 2, "rank 1 on 10.0.0.1 ended with 0 "}};  // the node of rank 4
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Connection closed by peer\n",
             v1::OUTPUT_STREAM_STDERR));
  for (const Row& row : rows) {
    const std::shared_ptr<v1::LaunchPlan> plan = std::make_shared<v1::LaunchPlan>(*plan_);
    v1::RankPlan& neighbour = *plan->mutable_nodes(2)->add_ranks();
    neighbour = plan->nodes(2).ranks(0);
    neighbour.set_rank(5);
    Attempt attempt{1, plan, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
    attempt.logs = attempt_.logs;
    v1::RankExited exit;
    exit.set_rank(1);
    exit.set_exit_code(0);
    exit.set_time_ns(1'000'000'000);
    attempt.state().RankExited(exit);
    exit.set_rank(4);
    exit.set_exit_code(1);
    exit.set_time_ns(3'000'000'000);
    attempt.state().RankExited(exit);
    attempt.NodeLost(row.node, Error(StatusCode::kUnavailable, "cut off"),
                     row.last_contact_s * 1'000'000'000);
    const std::string report = EndReport(attempt, {});
    EXPECT_TRUE(report.starts_with(row.begin)) << report;
    EXPECT_TRUE(DescribeCauseInOneLine(attempt).starts_with(row.begin));
    const bool later = report.find("\n  then node ") != std::string::npos;
    EXPECT_EQ(later, !report.starts_with("node ")) << report;
  }
}

TEST_F(EndReportTest, EachLossIsNamedOrCounted) {
  const std::string traceback =
      "Traceback (most recent call last):\n"
      "  File \"/work/train.py\", line 6, in main\n";
  Write(Line(4, traceback + "RuntimeError: Connection closed by peer\n", v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  for (const uint32_t node : {1u, 0u}) {
    attempt_.NodeLost(node, Error(StatusCode::kUnavailable, "cut off"));
  }
  EXPECT_TRUE(Report().starts_with("node 10.0.0.2 was lost: cut off\n")) << Report();
  EXPECT_TRUE(Report().ends_with("\n  then node 10.0.0.1 was lost: cut off")) << Report();
  Write(Line(1, traceback + "KeyError: 'label'\n", v1::OUTPUT_STREAM_STDERR));
  EXPECT_TRUE(Report().starts_with("rank 1 on 10.0.0.1: KeyError: 'label'")) << Report();
  EXPECT_TRUE(Report().ends_with("\n  then node 10.0.0.2 was lost: cut off; so was 1 other node"))
      << Report();
}

TEST_F(EndReportTest, ALostNodeIsTheCauseOfAComplaintAboutAPeer) {
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "RuntimeError: Connection closed by peer\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(1);
  exit.set_exit_code(0);
  attempt_.state().RankExited(exit);
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  attempt_.state().NodeLost(1, Error(StatusCode::kUnavailable, "its agent was killed by SIGKILL"));
  EXPECT_EQ(
      DescribeCauseInOneLine(attempt_),
      "node 10.0.0.2 was lost: its agent was killed by SIGKILL; because of it, rank 4 on node3 "
      "exited with code 1: RuntimeError: Connection closed by peer, train.py:6");
  EXPECT_TRUE(
      Report().starts_with("node 10.0.0.2 was lost: its agent was killed by SIGKILL\n"
                           "  because of it, rank 4 on node3 exited with code 1: "))
      << Report();
}

TEST_F(EndReportTest, ALostNodeDoesNotExplainAnotherFailure) {
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "KeyError: 'label'\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  attempt_.state().NodeLost(1, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_TRUE(Report().starts_with("rank 4 on node3 exited with code 1: KeyError")) << Report();
}

TEST_F(EndReportTest, ARankThatEndedBeforeTheStopIsNotSaidToHaveBeenStopped) {
  v1::RankExited exit;
  exit.set_exit_code(1);
  for (const uint32_t rank : {4u, 0u}) {
    exit.set_rank(rank);
    attempt_.state().RankExited(exit);
  }
  EXPECT_TRUE(Report().ends_with(
      "\n  then rank 0 on 10.0.0.1 exited with code 1\n  all others may still run"))
      << Report();
  exit.set_rank(1);
  exit.set_signal(SIGUSR1);
  attempt_.state().RankExited(exit);
  attempt_.state().NodeLost(1, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_TRUE(Report().ends_with("\n  other ranks: 1 ended on SIGUSR1, 2 were on a lost node"))
      << Report();
}

TEST_F(EndReportTest, OfTwoRanksTheOtherIsNamedOnce) {
  constexpr int64_t kSecond = 1'000'000'000;
  const auto plan = std::make_shared<v1::LaunchPlan>(*plan_);
  plan->mutable_nodes(0)->clear_ranks();
  plan->mutable_nodes(1)->mutable_ranks()->DeleteSubrange(1, 1);
  struct Row {
    int signal;  // 0: it exits with 1
    std::string end;
  };
  const Row rows[] = {
      {SIGUSR1, "\n  rank 2 on 10.0.0.2 ended on SIGUSR1"},
      {0, "\n  it wrote nothing\n  then rank 2 on 10.0.0.2 exited with code 1, 1.00 s later"},
  };
  for (const Row& row : rows) {
    Attempt of_two(1, plan, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {});
    of_two.logs = attempt_.logs;
    v1::RankExited exit;
    exit.set_rank(4);
    exit.set_exit_code(1);
    exit.set_time_ns(kSecond);
    of_two.state().RankExited(exit);
    exit.set_rank(2);
    if (row.signal != 0) exit.set_signal(row.signal);
    exit.set_time_ns(2 * kSecond);
    of_two.state().RankExited(exit);
    EXPECT_TRUE(EndReport(of_two, {}).ends_with(row.end)) << EndReport(of_two, {});
  }
}

TEST_F(EndReportTest, TheOtherRanksAreCounted) {
  const auto exit = [](uint32_t rank, int code, int signal = 0) {
    v1::RankExited exited;
    exited.set_rank(rank);
    if (signal != 0) {
      exited.set_signal(signal);
    } else {
      exited.set_exit_code(code);
    }
    return exited;
  };
  const auto passed_on = [&](uint32_t rank) {
    v1::RankExited exited = exit(rank, 0, SIGUSR2);
    exited.set_signalled(SIGUSR2);
    return exited;
  };
  struct Row {
    std::vector<v1::RankExited> before;  // the cause
    bool stopped = false;                // the cause is SIGINT, else a rank
    std::vector<v1::RankExited> after;
    std::string report;
  };
  const Row rows[] = {
      {{}, true, {exit(0, 0, SIGUSR1)}, "ranks: 1 ended on SIGUSR1, 4 may still run"},
      {{exit(0, 0), exit(1, 0), exit(2, 0), exit(3, 0)},
       true,
       {exit(4, 0, SIGUSR1)},
       "1 rank ended on SIGUSR1"},
      {{exit(0, 0), exit(1, 0), exit(2, 0)},
       true,
       {exit(3, 0, SIGUSR1), exit(4, 0, SIGUSR1)},
       "2 ranks ended on SIGUSR1"},
      {{exit(0, 0), exit(1, 0), exit(2, 0), exit(3, 9)},
       false,
       {exit(4, 0, SIGUSR1)},
       "1 other rank ended on SIGUSR1"},
      {{exit(0, 0), exit(1, 0), exit(2, 0), exit(3, 9)},
       false,
       {exit(4, 9)},
       "then rank 4 on node3 exited with code 9"},
      {{exit(0, 0), exit(1, 0), exit(3, 9)},
       false,
       {exit(2, 0), exit(4, 0, SIGUSR1)},
       "other ranks: 1 ended on SIGUSR1, 1 ended before it was stopped"},
      {{exit(4, 9)},
       false,
       {exit(0, 9), exit(1, 9), exit(2, 9), exit(3, 9)},
       "all others ended before they were stopped"},
      {{exit(0, 0), exit(1, 0), exit(2, 0), exit(3, 9)},
       false,
       {exit(4, 0, SIGUSR2)},  // of another program
       "then rank 4 on node3 was ended by SIGUSR2"},
      {{exit(0, 0), passed_on(3)},
       false,
       {passed_on(4), exit(2, 0, SIGUSR1)},
       "other ranks: 1 ended on SIGUSR1, 1 was ended by a signal that autodist passed on, 1 may "
       "still run"},
      {{passed_on(0)},
       false,
       {passed_on(1), passed_on(2), passed_on(3), passed_on(4)},
       "it wrote nothing\n  all others were ended by a signal that autodist passed on"},
      {{exit(4, 9)},
       false,
       {exit(0, 9), exit(1, 9), exit(2, 0, SIGUSR1), exit(3, 0, SIGKILL)},
       "other ranks: 1 ended on SIGUSR1, 1 needed SIGKILL, 1 ended before it was stopped"},
      {{exit(4, 9)},
       false,
       {exit(0, 9), exit(1, 0, SIGUSR1), exit(2, 0, SIGUSR1), exit(3, 0, SIGUSR1)},
       "then rank 0 on 10.0.0.1 exited with code 9\n  all others ended on SIGUSR1"},
  };
  for (const Row& row : rows) {
    Attempt attempt{1, plan_, {0, 1, 2}, "logs", SIGUSR1, std::chrono::milliseconds(0), {}};
    attempt.logs = attempt_.logs;
    for (const v1::RankExited& one : row.before) attempt.state().RankExited(one);
    if (row.stopped) attempt.state().Interrupted(SIGINT);
    for (const v1::RankExited& one : row.after) attempt.state().RankExited(one);
    EXPECT_TRUE(EndReport(attempt, {}).ends_with("\n  " + row.report)) << EndReport(attempt, {});
  }
}

// An auxiliary process is not counted.
TEST_F(EndReportTest, AllRanksAreAllWithoutAuxiliaryProcesses) {
  v1::LaunchPlan plan = test::ThreeNodePlan();
  v1::RankPlan& serving = *plan.mutable_nodes(0)->add_ranks();
  serving.set_rank(5);
  serving.set_auxiliary(true);
  const SharedPlan shared = std::make_shared<v1::LaunchPlan>(plan);
  Attempt attempt{1, shared, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
  attempt.logs = attempt_.logs;
  attempt.state().Interrupted(SIGINT);
  for (uint32_t rank = 0; rank < 5; ++rank) {
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_signal(SIGUSR1);
    attempt.state().RankExited(exit);
  }
  EXPECT_EQ(EndReport(attempt, {}), "stopped by SIGINT\n  all ranks ended on SIGUSR1");
}

TEST_F(EndReportTest, ProgramsOfNodesAreProcesses) {
  v1::LaunchPlan plan = test::ThreeNodePlan();
  plan.set_program_kind(v1::PROGRAM_KIND_PER_NODE);
  const SharedPlan shared = std::make_shared<v1::LaunchPlan>(plan);
  Attempt attempt{1, shared, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
  attempt.logs = attempt_.logs;
  attempt.state().Interrupted(SIGINT);
  v1::RankExited exit;
  exit.set_signal(SIGUSR1);
  attempt.state().RankExited(exit);
  EXPECT_EQ(EndReport(attempt, {}),
            "stopped by SIGINT\n  processes: 1 ended on SIGUSR1, 4 may still run");
}

TEST_F(EndReportTest, TheNextFailureIsNamedAfterTheFirst) {
  constexpr int64_t kSecond = 1'000'000'000;
  v1::RankExited exit;
  exit.set_exit_code(1);
  for (const auto& [rank, time] : {std::pair(4u, 30), {0u, 32}, {1u, 31}, {2u, 29}}) {
    exit.set_rank(rank);
    exit.set_time_ns(time * kSecond);
    attempt_.state().RankExited(exit);
  }
  EXPECT_TRUE(Report().starts_with("rank 2 on 10.0.0.2 exited with code 1\n")) << Report();
  EXPECT_THAT(Report(), HasSubstr("\n  then rank 4 on node3 exited with code 1, 1.00 s later\n"));
  EXPECT_EQ(NoticedFirst(attempt_), "; rank 4 on node3 failed after it");
}

TEST_F(EndReportTest, AFailureAtTheSameTimeHasNoTimeInTheReport) {
  v1::RankExited exit;
  exit.set_exit_code(9);
  for (const auto& [rank, time] : {std::pair(4u, 1'000'000), {0u, 5'000'000}}) {
    exit.set_rank(rank);
    exit.set_time_ns(time);
    attempt_.state().RankExited(exit);
  }
  EXPECT_THAT(Report(), HasSubstr("\n  then rank 0 on 10.0.0.1 exited with code 9\n"));
}

TEST_F(EndReportTest, ACauseThatWasNoticedFirstIsNamedOnce) {
  v1::RankExited exit;
  exit.set_exit_code(1);
  for (const uint32_t rank : {4u, 0u}) {
    exit.set_rank(rank);
    exit.set_time_ns(rank == 4 ? 1 : 2);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(NoticedFirst(attempt_), "");
}

TEST_F(EndReportTest, CutLogsAreCounted) {
  EXPECT_EQ(attempt_.logs->warnings().size(), 0u);
  {
    const test::FileSizeLimit limit(2);
    for (const uint32_t rank : {1u, 4u}) {
      Write(Line(rank, "much\n"));
      Write(Line(rank, "much\n", v1::OUTPUT_STREAM_STDERR));
    }
  }
  EXPECT_EQ(Report(),
            "the job ended with warnings:\n"
            "  logs of 2 ranks are cut short: write: File too large");
}

TEST_F(EndReportTest, ALogThatCouldNotBeWrittenIsNotSaidToHaveAPart) {
  {
    const test::FileSizeLimit limit(0);
    Write(Line(4, "much\n"));
  }
  EXPECT_THAT(attempt_.logs->warnings(),
              testing::ElementsAre("log of rank 4 cannot be written: write: File too large"));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(3);
  attempt_.state().RankExited(exit);
  EXPECT_THAT(Report(), HasSubstr("\n  none of what it wrote was kept\n"));
  Write(Line(4, "more\n", v1::OUTPUT_STREAM_STDERR));
  EXPECT_THAT(Report(), HasSubstr("\n  part of what it wrote: logs/restart-1/rank-4.out and .err"));
  EXPECT_THAT(attempt_.logs->warnings(),
              testing::ElementsAre("log of rank 4 is cut short: write: File too large"));
}

TEST_F(EndReportTest, OnlyLogsThatAreKeptAreNamed) {
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  Write(Line(4, "some\n"));
  EXPECT_THAT(Report(), HasSubstr("\n  all it wrote: logs/restart-1/rank-4.out and .err"));
  v1::Output output = Line(4, "more\n");
  output.set_offset(5);
  output.set_lost(3);
  Write(output);
  EXPECT_THAT(Report(), HasSubstr("\n  part of what it wrote: logs/restart-1/rank-4.out and .err"));
  std::filesystem::remove(folder_.path() + "/rank-4.err");
  EXPECT_THAT(Report(), Not(HasSubstr("it wrote: ")));
}

TEST_F(EndReportTest, AReasonOfOneLineIsNotRepeated) {
  const std::string line = "t.py: error: the following arguments are required: --local_rank";
  Write(Line(4, "usage: t.py [-h] --local_rank N\n" + line + "\n", v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(2);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(Report().starts_with("rank 4 on node3 exited with code 2: " + line +
                                   "\n  its other last line on stderr:\n    | usage: t.py "))
      << Report();
  EXPECT_EQ(Report().find(line), Report().rfind(line)) << Report();
}

TEST_F(EndReportTest, TheMessageOfAnAbortIsNotRepeated) {
  Write(Line(4, "MPI_ABORT by user\n", v1::OUTPUT_STREAM_STDERR));
  v1::RankAborted aborted;
  aborted.set_rank(4);
  aborted.set_status(3);
  aborted.set_message("MPI_ABORT by user");
  attempt_.state().RankAborted(aborted);
  EXPECT_TRUE(
      Report().starts_with("rank 4 on node3 called MPI_Abort with 3: MPI_ABORT by user\n"
                           "  all it wrote: "))
      << Report();
}

TEST_F(EndReportTest, ATracebackLongBeforeTheEndWasDealtWith) {
  Write(Line(1,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 5, in main\n"
             "ModuleNotFoundError: No module named 'flash_attn'\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(1);
  exit.set_exit_code(0);
  exit.set_time_ns((attempt_.logs->LastReport(1).failure_ms + 11'000) * 1'000'000);
  attempt_.state().RankExited(exit);
  EXPECT_EQ(Report(), "");
}

TEST_F(EndReportTest, AKnownFailureHasItsHint) {
  Write(Line(4,
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "    s.bind((\"\", 23456))\n"
             "OSError: [Errno 98] Address already in use\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::AgentEvent event;
  v1::RankExited& exit = *event.mutable_rank_exited();
  exit.set_rank(4);
  exit.set_exit_code(1);
  exit.mutable_failure_facts()->add_closing_ports(23456);
  attempt_.Take(2, event);
  EXPECT_TRUE(Report().ends_with(
      "  port 23456 on node3 is still closing after an earlier connection (TIME_WAIT, 60 s)\n"
      "  hint: set SO_REUSEADDR in the program, or use another port"))
      << Report();
}

TEST_F(EndReportTest, TheLastLineIsShownInOneLineIfThereIsNoMessage) {
  Write(Line(4, "no batches left\n"));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_EQ(DescribeCauseInOneLine(attempt_),
            "rank 4 on node3 exited with code 1; its last line: no batches left");
}

TEST_F(EndReportTest, TheWatchdogKnowsWhoDidNotEnqueue) {
  const auto counts = [](const std::string& number) {
    return "[rank]:[E ProcessGroupNCCL.cpp:1785] [PG ID 0 Rank 1] last enqueued NCCL work: " +
           number + ", last completed NCCL work: 6\n";
  };
  for (const uint32_t rank : {0u, 1u, 3u, 4u}) {
    Write(Line(rank, counts("7"), v1::OUTPUT_STREAM_STDERR));
  }
  Write(Line(2, counts("6"), v1::OUTPUT_STREAM_STDERR));
  Write(Line(4,
             "terminate called after throwing an instance of 'c10::DistBackendError'\n"
             "  what():  Watchdog caught collective operation timeout\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_signal(SIGABRT);
  attempt_.state().RankExited(exit);
  attempt_.missing = "ranks 1-3 were elsewhere: rank 1 (10.0.0.1) sleeps";
  EXPECT_TRUE(Report().starts_with(
      "rank 2 on 10.0.0.2 did not enqueue collective 7, for which others waited (NCCL's watchdog)\n"
      "  because of it, rank 4 on node3 was ended by SIGABRT"))
      << Report();
  attempt_.missing = "rank 2 (10.0.0.2) sleeps in load (train.py:12)";
  EXPECT_TRUE(Report().starts_with("rank 2 (10.0.0.2) sleeps in load (train.py:12), while"))
      << Report();
}

TEST_F(EndReportTest, AHangNamesItsCulpritInOneLineToo) {
  attempt_.state().Hung();
  attempt_.hang_diagnosis->Set("rank 3 (10.0.0.2) sleeps in load (train.py:12)");
  EXPECT_EQ(
      DescribeCauseInOneLine(attempt_),
      "no rank showed activity (--hang-timeout); rank 3 (10.0.0.2) sleeps in load (train.py:12)");
}

v1::AgentEvent LeftEvent(v1::LeftStage stage, uint32_t rank) {
  v1::AgentEvent event;
  event.mutable_processes_left()->set_stage(stage);
  v1::LeftProcess& process = *event.mutable_processes_left()->add_processes();
  process.set_pid(77);
  process.set_name("python3");
  process.set_rank(rank);
  return event;
}

TEST_F(EndReportTest, WhatIsAwaitedAfterTheRanksIsSaid) {
  EXPECT_FALSE(attempt_.Take(2, LeftEvent(v1::LEFT_STAGE_SIGNALLED, 4)).to_record);
  const auto waits = attempt_.Take(2, LeftEvent(v1::LEFT_STAGE_AWAITED, 4));
  ASSERT_TRUE(waits.to_record && waits.to_log);
  EXPECT_EQ(waits.to_record->what(), "waiting for python3 (pid 77) on node3, which rank 4 left");
  attempt_.state().Interrupted(SIGINT);
  for (uint32_t rank = 0; rank < 5; ++rank) {
    v1::RankExited exit;
    exit.set_rank(rank);
    exit.set_exit_code(0);
    attempt_.state().RankExited(exit);
  }
  EXPECT_EQ(attempt_.Take(1, LeftEvent(v1::LEFT_STAGE_AWAITED, 9)).to_record->what(),
            "no rank runs any more; waiting for python3 (pid 77) on 10.0.0.2, which a rank left");
}

TEST_F(EndReportTest, AStageOfLeftProcessesIsTakenOnce) {
  EXPECT_TRUE(attempt_.Take(2, LeftEvent(v1::LEFT_STAGE_KILLED, 4)).to_record);
  EXPECT_FALSE(attempt_.Take(2, LeftEvent(v1::LEFT_STAGE_KILLED, 4)).to_record);
  EXPECT_TRUE(attempt_.Take(1, LeftEvent(v1::LEFT_STAGE_KILLED, 3)).to_record);
  EXPECT_FALSE(attempt_.Take(1, LeftEvent(static_cast<v1::LeftStage>(9), 3)).to_record);
}

TEST_F(EndReportTest, AStartScriptThatLeavesItsProgramIsReported) {
  const auto plan = std::make_shared<v1::LaunchPlan>(test::ThreeNodePlan());
  plan->mutable_nodes(2)->mutable_ranks(0)->set_argv(0, "./start.sh");
  Attempt attempt{1, plan, {0, 1, 2}, "logs", SIGUSR1, std::chrono::seconds(30), {}};
  attempt.logs = attempt_.logs;
  attempt.Take(2, LeftEvent(v1::LEFT_STAGE_SIGNALLED, 4));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(0);
  attempt.state().RankExited(exit);
  EXPECT_EQ(EndReport(attempt, {}),
            "rank 4 on node3 ended with 0 and left python3 (pid 77) behind, which autodist ended");
}

TEST_F(EndReportTest, AKnownFailureIsNotExplainedByAVariableOfOtherLines) {
  attempt_.missing_variables =
      std::make_shared<Attempt::MissingVariables>(Attempt::MissingVariables{{2, {"HF_TOKEN"}}});
  Write(Line(4,
             "UserWarning: HF_TOKEN is not set\n"
             "Traceback (most recent call last):\n"
             "  File \"/work/train.py\", line 6, in main\n"
             "bdb.BdbQuit\n",
             v1::OUTPUT_STREAM_STDERR));
  v1::RankExited exit;
  exit.set_rank(4);
  exit.set_exit_code(1);
  attempt_.state().RankExited(exit);
  EXPECT_TRUE(Report().ends_with("  hint: run with --stdin-rank 4 to debug this rank")) << Report();
}

TEST_F(EndReportTest, TheLastLineHasOutcomeAndDuration) {
  const std::string job = "job " + attempt_.plan().job_id();
  EXPECT_EQ(LastLine(attempt_, 0, std::chrono::seconds(151), "94.1 %"),
            job + " finished: 5 ranks on 3 nodes, 2 min 31 s, 1 restart, goodput 94.1 %");
  EXPECT_EQ(LastLine(attempt_, 0, std::chrono::seconds(59), "94.1 %"),
            job + " finished: 5 ranks on 3 nodes, 59 s, 1 restart");
  attempt_.state().NodeLost(1, Error(StatusCode::kUnavailable, "cut off"));
  EXPECT_EQ(LastLine(attempt_, 125, std::chrono::seconds(3), ""),
            job + " failed after 3 s, 1 restart; exit code 125");
}

TEST_F(EndReportTest, TheLastLineOfAStoppedJobDoesNotCallItFailed) {
  attempt_.state().Interrupted(SIGINT);
  EXPECT_EQ(LastLine(attempt_, 130, std::chrono::seconds(3), ""),
            "job " + attempt_.plan().job_id() + " was stopped after 3 s, 1 restart; exit code 130");
}

TEST_F(EndReportTest, AHangIsReportedWithEachRanksLastLine) {
  Write(Line(0, "step 1\nstep 2\n"));
  EXPECT_EQ(HangReport(attempt_, std::chrono::seconds(90)),
            "no rank has written anything for 90 s; last lines:\n"
            "  rank 0 on 10.0.0.1: step 2\n"
            "  rank 1 on 10.0.0.1: none\n"
            "  rank 2 on 10.0.0.2: none\n"
            "  rank 3 on 10.0.0.2: none\n"
            "  rank 4 on node3: none");
}

std::vector<launch::LaunchedNode> AllReady() {
  std::vector<launch::LaunchedNode> nodes(3);
  for (uint32_t i = 0; i < 3; ++i) nodes[i].node_rank = i;
  return nodes;
}

void AddIssue(launch::LaunchedNode& node, v1::PrepareIssueKind kind, const std::string& cause) {
  v1::PrepareIssue& issue = *node.prepared.add_issues();
  issue.set_kind(kind);
  issue.set_cause(cause);
  issue.set_remedy("mend it");
}

TEST(LaunchReportTest, NamesEveryBadNodeWithCauseAndRemedy) {
  std::vector<launch::LaunchedNode> nodes = AllReady();
  EXPECT_EQ(LaunchReport(test::ThreeNodePlan(), nodes, false), "");
  EXPECT_EQ(LaunchExitCode(nodes), 0);
  nodes[1].status = WithRemedy(Error(StatusCode::kUnavailable, "refused"), "start sshd");
  AddIssue(nodes[2], v1::PREPARE_ISSUE_KIND_ACTIVATION, "no environment");
  AddIssue(nodes[2], v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE, "no program");
  EXPECT_EQ(LaunchReport(test::ThreeNodePlan(), nodes, false),
            "no rank was started, because 2 of 3 nodes cannot run the job:\n"
            "  10.0.0.2:\n"
            "    refused\n"
            "    hint: start sshd\n"
            "  node3:\n"
            "    no environment\n"
            "    hint: mend it\n"
            "    no program\n"
            "    hint: mend it");
  EXPECT_EQ(LaunchExitCode(nodes), 125);
}

TEST(LaunchReportTest, ASingleNodeIsNotCounted) {
  plan::Input input = test::ThreeNodeInput();
  input.spec.nodes = {input.spec.nodes[1]};  // the chief
  std::vector<launch::LaunchedNode> nodes(1);
  AddIssue(nodes[0], v1::PREPARE_ISSUE_KIND_ACTIVATION, "no environment");
  EXPECT_THAT(LaunchReport(*plan::MakePlan(input), nodes, false),
              HasSubstr("no rank was started, because the node cannot run the job:\n"));
}

TEST(LaunchReportTest, IdenticalIssuesOfNodesAreGrouped) {
  std::vector<launch::LaunchedNode> nodes = AllReady();
  nodes[1].status = WithRemedy(Error(StatusCode::kUnavailable, "connecting to 10.0.0.2: refused"),
                               "start sshd on 10.0.0.2");
  nodes[2].status = WithRemedy(Error(StatusCode::kUnavailable, "connecting to 10.0.0.3: refused"),
                               "start sshd on node3");
  EXPECT_EQ(LaunchReport(test::ThreeNodePlan(), nodes, false),
            "no rank was started, because 2 of 3 nodes cannot run the job:\n"
            "  10.0.0.2, node3:\n"
            "    connecting to NODE: refused\n"
            "    hint: start sshd on NODE");
}

TEST(LaunchReportTest, SyncIsSuggestedForFilesThatTheChiefHas) {
  std::vector<launch::LaunchedNode> nodes = AllReady();
  AddIssue(nodes[1], v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY, "no folder");
  AddIssue(nodes[2], v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "no program");
  const auto report = [&](const std::string& program, bool synced) {
    plan::Input input = test::ThreeNodeInput();
    input.command = {program};
    return LaunchReport(*plan::MakePlan(input), nodes, synced);
  };
  EXPECT_THAT(report("./train", false),
              testing::AllOf(HasSubstr("no folder\n    hint: run with --sync"),
                             HasSubstr("no program\n    hint: run with --sync")));
  EXPECT_THAT(report("./train", true), HasSubstr("no program\n    hint: --sync skips"));
  plan::Input restart = test::ThreeNodeInput();  // which copies nothing
  restart.command = {"./train"};
  EXPECT_THAT(LaunchReport(*plan::MakePlan(restart), nodes, false, 1), Not(HasSubstr("--sync")));
  EXPECT_THAT(report("/work/train", false), HasSubstr("no program\n    hint: run with --sync"));
  for (const char* elsewhere : {"python", "../train", "/opt/train"}) {
    EXPECT_THAT(report(elsewhere, false), HasSubstr("no program\n    hint: mend it")) << elsewhere;
  }
  AddIssue(nodes[0], v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "no program");
  EXPECT_THAT(report("./train", false),
              testing::AllOf(HasSubstr("no folder\n    hint: run with --sync"),
                             Not(HasSubstr("no program\n    hint: run with --sync"))));
  AddIssue(nodes[0], v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY, "no folder");
  EXPECT_THAT(report("./train", false), Not(HasSubstr("--sync")));
}

TEST(LaunchReportTest, AMissingCommandHasTheShellsExitCode) {
  std::vector<launch::LaunchedNode> nodes = AllReady();
  AddIssue(nodes[1], v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 126);
  AddIssue(nodes[2], v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 127);
  AddIssue(nodes[2], v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "x");
  EXPECT_EQ(LaunchExitCode(nodes), 127);
}

}  // namespace
}  // namespace autodist::chief
