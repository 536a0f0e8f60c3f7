// Ranks that wait for each other at different places of a program.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/judged_job.h"
#include "why/diagnosis.h"

namespace autodist::why {
namespace {

constexpr char kTorch[] = "/opt/lib/python3.11/site-packages/torch/";

std::string PythonFrameAt(const std::string& function, const std::string& file) {
  return "        " + function + " (" + file + ")\n";
}

// A collective of torch.distributed, called in this line.
std::string CallsCollective(const std::string& name, int line) {
  return PythonFrameAt(name, std::string(kTorch) + "distributed/distributed_c10d.py:2001") +
         PythonFrameAt("wrapper", std::string(kTorch) + "distributed/c10d_logger.py:83") +
         PythonFrameAt("train", "/home/me/train.py:" + std::to_string(line));
}

// A backward pass of DistributedDataParallel, called in this line.
std::string CallsBackward(int line) {
  return PythonFrameAt("_engine_run_backward", std::string(kTorch) + "autograd/graph.py:744") +
         PythonFrameAt("backward", std::string(kTorch) + "autograd/__init__.py:347") +
         PythonFrameAt("Tensor.backward", std::string(kTorch) + "_tensor.py:521") +
         PythonFrameAt("train", "/home/me/train.py:" + std::to_string(line));
}

// A forward pass of a model that is wrapped in DDP.
std::string CallsForward(int line) {
  return PythonFrameAt("_sync_buffers", std::string(kTorch) + "nn/parallel/distributed.py:1900") +
         PythonFrameAt("forward", std::string(kTorch) + "nn/parallel/distributed.py:1500") +
         PythonFrameAt("_call_impl", std::string(kTorch) + "nn/modules/module.py:1750") +
         PythonFrameAt("train", "/home/me/train.py:" + std::to_string(line));
}

// The collectives of a sharded model are called by PyTorch within a backward pass.
std::string ShardsGradients(int line) {
  return PythonFrameAt("reduce_scatter_tensor",
                       std::string(kTorch) + "distributed/distributed_c10d.py:4000") +
         PythonFrameAt("_reduce_grad", std::string(kTorch) + "distributed/fsdp/_runtime.py:850") +
         CallsBackward(line);
}

std::string BySpy(const std::string& frames, uint64_t switches = 100, uint64_t bytes = 0) {
  return "process 100 (sleeping): python3 train.py\n"
         "  thread 100 (python3): sleeping in futex_do_wait, system call 202\n"
         "    switched " +
         std::to_string(switches) + " times\n  by " + (bytes > 0 ? "15000" : "10000") +
         " ms: CPU 100 ms, main thread 100 ms, data " + std::to_string(bytes) +
         " bytes\n  user-space stacks by py-spy:\n    Thread 100 (idle): \"MainThread\"\n" + frames;
}

// A rank of PyTorch in gdb, with this function of Gloo in another thread.
std::string ByGdbAlone(const std::string& gloo, const std::string& main) {
  return "process 100 (sleeping): python3 train.py\n"
         "  thread 100 (python3): sleeping in futex_do_wait, system call 202\n"
         "    switched 100 times\n  user-space stacks by gdb:\n"
         "    Thread 2 (LWP 101):\n    #0  0x1 in gloo::transport::tcp::Pair::recv () from "
         "/lib/libgloo.so\n    #1  0x2 in gloo::" +
         gloo +
         " () from /lib/libgloo.so\n"
         "    Thread 1 (LWP 100):\n    #0  0x3 in " +
         main + " () from /lib/libtorch_cpu.so\n";
}

class DifferentCallsTest : public JudgedJobTest {
 protected:
  DifferentCallsTest() { known_.now.mutable_job()->set_working_directory("/home/me"); }

  void Add(const std::string& stack, std::optional<uint64_t> step = {},
           const std::string& earlier = "") {
    v1::RankSnapshot& rank = AddRank(earlier.empty() ? stack : earlier, stack);
    if (step) rank.mutable_progress()->set_step(*step);
  }
};

struct DifferentCallsRow {
  std::vector<std::string> frames;  // of ranks 0, 1, …
  std::string says;                 // before ": they do not execute the same collectives"
  std::vector<uint32_t> ranks;
};

TEST_F(DifferentCallsTest, CallsThatCannotMatch) {
  const std::vector<DifferentCallsRow> rows = {
      {{CallsCollective("all_gather", 31), CallsBackward(24), CallsBackward(24), CallsBackward(24)},
       "rank 0 (host1) waits in all_gather (train.py:31), the 3 others in backward (train.py:24)",
       {0}},
      {{CallsBackward(24), CallsCollective("barrier", 40), CallsBackward(24)},
       "rank 1 (host2) waits in barrier (train.py:40), the 2 others in backward (train.py:24)",
       {1}},
      {{CallsForward(20), CallsForward(20), CallsBackward(24)},
       "rank 2 (host3) waits in backward (train.py:24), the 2 others in forward (train.py:20)",
       {2}},
      {{ShardsGradients(24), ShardsGradients(24), CallsCollective("all_reduce", 50)},
       "rank 2 (host3) waits in all_reduce (train.py:50), the 2 others in reduce_scatter_tensor "
       "(train.py:24)",
       {2}},
      // Without a majority, no call is known to be right.
      {{CallsCollective("all_gather", 31), CallsCollective("broadcast", 24)},
       "rank 0 (host1) waits in all_gather (train.py:31), the other rank in broadcast "
       "(train.py:24)",
       {0, 1}},
      {{CallsCollective("all_gather", 31), CallsCollective("barrier", 7), CallsBackward(24),
        CallsBackward(24)},
       "rank 0 (host1) waits in all_gather (train.py:31), rank 1 (host2) in barrier (train.py:7), "
       "the 2 others in backward (train.py:24)",
       {0, 1}},
  };
  for (const DifferentCallsRow& row : rows) {
    known_.now.clear_ranks();
    known_.now.clear_nodes();
    known_.stacks.clear();
    known_.stacks_earlier.clear();
    for (const std::string& frames : row.frames) Add(BySpy(frames));
    EXPECT_EQ(Says(), "wrong: " + row.says + ": they do not execute the same collectives");
    const v1::Issue issue = Judge(known_).issue();
    EXPECT_EQ(std::vector<uint32_t>(issue.ranks().begin(), issue.ranks().end()), row.ranks);
  }
}

TEST_F(DifferentCallsTest, TheLastStepsAreNamedIfTheyDiffer) {
  Add(BySpy(CallsCollective("all_gather", 31)), 40);
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)), 41);
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in all_gather (train.py:31) after step 40, the 2 others "
            "in backward (train.py:24) after step 41: they do not execute the same collectives");
  known_.now.mutable_ranks(0)->mutable_progress()->set_step(41);
  EXPECT_EQ(Says().find("after step"), std::string::npos);
}

TEST_F(DifferentCallsTest, InGdbTheOperationsDiffer) {
  Add(ByGdbAlone("barrier", "c10d::Work::wait"));
  for (int i = 0; i < 2; ++i) {
    Add(ByGdbAlone("allreduce", "c10d::Reducer::finalize_backward"));
  }
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in a barrier, the 2 others in backward: they do not "
            "execute the same collectives");
}

// Debian's Gloo has no symbol for the function that is an all-reduce.
TEST_F(DifferentCallsTest, InGdbAnOperationOfGlooMayHaveNoName) {
  const std::string waits = "c10d::Work::wait";
  std::string unnamed = ByGdbAlone("allreduce", waits);
  const std::string frame = "gloo::allreduce () from /lib/libgloo.so\n";
  unnamed.replace(unnamed.find(frame), frame.size(),
                  "?? () from /lib/libgloo.so\n    #2  0x4 in c10d::ProcessGroupGloo::AsyncWork::"
                  "execute () from /lib/libtorch_cpu.so\n");
  Add(ByGdbAlone("allgather", waits));
  for (int i = 0; i < 2; ++i) Add(unnamed);
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in an all-gather, the 2 others in another collective: "
            "they do not execute the same collectives");
  known_.now.clear_ranks();
  known_.now.clear_nodes();
  known_.stacks.clear();
  known_.stacks_earlier.clear();
  for (int i = 0; i < 3; ++i) Add(unnamed);
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
}

// It waits for the addresses of the other ranks, at the socket of the store.
TEST_F(DifferentCallsTest, CreatingAGroupIsNoWaitForAService) {
  const std::string creates =
      PythonFrameAt("_new_process_group_helper",
                    std::string(kTorch) + "distributed/distributed_c10d.py:860") +
      PythonFrameAt("new_group", std::string(kTorch) + "distributed/distributed_c10d.py:2800") +
      PythonFrameAt("train", "/home/me/train.py:17");
  std::string text = BySpy(creates);
  const std::string state = "sleeping in futex_do_wait, system call 202\n";
  text.replace(text.find(state), state.size(),
               "sleeping in wait_woken, system call 45\n    file: socket to 10.0.0.1:29500\n");
  Add(text);
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsCollective("all_reduce", 24)));
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in new_group (train.py:17), the 2 others in all_reduce "
            "(train.py:24): they do not execute the same collectives");
}

TEST_F(DifferentCallsTest, InGdbAConstructorCreatesAGroup) {
  Add(ByGdbAlone("allgather", "c10d::ProcessGroupGloo::ProcessGroupGloo"));
  for (int i = 0; i < 2; ++i) Add(ByGdbAlone("allreduce", "c10d::Work::wait"));
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in a set-up of a process group, the 2 others in an "
            "all-reduce: they do not execute the same collectives");
}

TEST_F(DifferentCallsTest, DifferentLinesOfOneOperationCanMatch) {
  Add(BySpy(CallsCollective("broadcast", 10)));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsCollective("broadcast", 12)));
  EXPECT_EQ(Says(),
            "unclear: all 3 ranks wait in the same operation, a broadcast, as they do when the "
            "network or a peer does not answer");
}

// A slow backward pass on a GPU is no frame of the main thread.
TEST_F(DifferentCallsTest, ARankMayWaitForItsGpu) {
  Add(BySpy(CallsBackward(24)));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsCollective("barrier", 40)));
  EXPECT_NE(Says().find("wrong"), std::string::npos) << Says();
  known_.now.mutable_ranks(0)->add_gpus(0);
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
  known_.stalled = true;
  EXPECT_NE(Says().find("wrong"), std::string::npos) << Says();
}

// The others may have received theirs before, and be in the next operation.
TEST_F(DifferentCallsTest, WhatTheNetworkLosesKeepsARankInItsOperation) {
  std::string loses = BySpy(CallsBackward(24));
  loses.insert(loses.find("  user-space"),
               "  sent again to 10.0.0.3: 6 of 90 segments, unanswered 5\n");
  Add(loses);
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsCollective("barrier", 40)));
  EXPECT_EQ(Says().find("wrong: between host1 and 10.0.0.3 the network loses"), 0U) << Says();
}

TEST_F(DifferentCallsTest, RanksThatRunOrReceiveDataGoOn) {
  const std::string gather = CallsCollective("all_gather", 31);
  Add(BySpy(gather, 180), {}, BySpy(gather, 100));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)));
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
  known_.stacks[0].set_text(BySpy(gather, 100, 4'000'000));
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
  known_.stacks[0].set_text(BySpy(gather, 100, 4'000));
  EXPECT_NE(Says().find("wrong"), std::string::npos) << Says();
}

TEST_F(DifferentCallsTest, AnUnknownRankMayBeTheMissingOne) {
  Add(BySpy(CallsCollective("all_gather", 31)));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)));
  v1::RankSnapshot& unknown = *known_.now.add_ranks();
  unknown.set_rank(3);
  unknown.set_state(v1::RANK_STATE_RUNNING);
  EXPECT_EQ(Says(), "unclear: no data on 1 rank of 4; the others wait in collectives");
}

// In a pipeline, ranks send and receive in different lines.
TEST_F(DifferentCallsTest, PointToPointOperationsAreNoMismatch) {
  Add(BySpy(CallsCollective("send", 31)));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)));
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) has not entered the collective in which the 2 others wait; it "
            "is in a send");
  known_.stacks[1].set_text(BySpy(CallsCollective("recv", 24)));
  known_.stacks_earlier[1].set_text(BySpy(CallsCollective("recv", 24)));
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
}

// One that receives waits for the GPUs of the others.
TEST_F(DifferentCallsTest, APipelineOnGpusIsNoMismatch) {
  Add(BySpy(CallsCollective("recv", 31)));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)));
  for (int i = 0; i < 3; ++i) known_.now.mutable_ranks(i)->add_gpus(0);
  EXPECT_EQ(Says().find("wrong"), std::string::npos) << Says();
}

// Older versions of PyTorch ask the store again and again.
TEST_F(DifferentCallsTest, ARankThatPollsInNewGroupWaits) {
  const std::string polls =
      PythonFrameAt("_store_based_barrier",
                    std::string(kTorch) + "distributed/distributed_c10d.py:200") +
      PythonFrameAt("new_group", std::string(kTorch) + "distributed/distributed_c10d.py:2800") +
      PythonFrameAt("train", "/home/me/train.py:17");
  Add(BySpy(polls, 900), {}, BySpy(polls, 100));
  for (int i = 0; i < 2; ++i) Add(BySpy(CallsBackward(24)));
  EXPECT_EQ(Says(),
            "wrong: rank 0 (host1) waits in new_group (train.py:17), the 2 others in backward "
            "(train.py:24): they do not execute the same collectives");
}

}  // namespace
}  // namespace autodist::why
