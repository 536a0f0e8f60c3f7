#include "chief/output/peer_complaints.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

// As printed by PyTorch 2.11 with NCCL 2.28.9 and Gloo.
constexpr char kWatchdog[] =
    "c10::DistBackendError: [PG ID 0 PG GUID 0(default_pg) Rank 1] Process group watchdog thread "
    "terminated with exception: [Rank 1] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=21, OpType=ALLREDUCE, NumelIn=262144, NumelOut=262144, Timeout(ms)=10000) ran "
    "for 10075 milliseconds before timing out.";
constexpr char kAborted[] =
    "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.";
constexpr char kGloo[] =
    "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:129] Timed out waiting 10000ms for send "
    "operation to complete";
constexpr char kPeerGone[] =
    "barrier: remote process exited or there was a network error (socketProgress: Connection "
    "closed "
    "by remote peer";
constexpr char kOwn[] = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.";

TEST(PeerComplaintsTest, ATimeoutIsAComplaintAboutAPeer) {
  for (const char* text : {kWatchdog, kAborted, kGloo}) {
    EXPECT_TRUE(AwaitedInVain(text)) << text;
    EXPECT_TRUE(BlamesPeer(text)) << text;
  }
}

TEST(PeerComplaintsTest, ADepartedPeerWasNotAwaited) {
  EXPECT_TRUE(BlamesPeer(kPeerGone));
  EXPECT_FALSE(AwaitedInVain(kPeerGone));
}

TEST(PeerComplaintsTest, AnOwnErrorIsNoComplaint) { EXPECT_FALSE(BlamesPeer(kOwn)); }

TEST(PeerComplaintsTest, APortThatCannotBeOpenedIsNoComplaint) {
  EXPECT_FALSE(BlamesPeer(
      "torch.distributed.DistNetworkError: The server socket has failed to listen on any "
      "local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, "
      "message: address already in use"));
}

// As printed by PyTorch 2.3, 2.5, 2.6 and 2.11.
TEST(PeerComplaintsTest, TheWatchdogCountsCollectives) {
  struct Row {
    const char* line;
    const char* group;
    uint64_t number;
  };
  const Row rows[] = {
      {"[rank0]:[E ProcessGroupNCCL.cpp:1182] [Rank 0] Timeout at NCCL work: 2, last enqueued NCCL "
       "work: 2, last completed NCCL work: 1.",
       "", 2},
      {"[rank1]:[E1129 10:00:00.123 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank "
       "1] Exception (either an error or timeout) detected by watchdog at work: 7, last enqueued "
       "NCCL work: 7, last completed NCCL work: 6.",
       "[PG ID 0 PG GUID 0(default_pg)", 7},
      {"[rank2]:[E1129 10:00:00.123 ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID 0(default_pg) Rank "
       "2] Received a dump signal due to a collective timeout from  rank 1 and we will try our "
       "best "
       "to dump the debug info. Last enqueued NCCL work: 6, last completed NCCL work: 6.",
       "[PG ID 0 PG GUID 0(default_pg)", 6},
      {"[rank1]:[E1129 10:00:00.123 ProcessGroupNCCL.cpp:2057] [PG ID 2 PG GUID 3 Rank 1]  failure "
       "detected by watchdog at work sequence id: 21 PG status: last enqueued work: 21, last "
       "completed work: 20",
       "[PG ID 2 PG GUID 3", 21},
  };
  for (const Row& row : rows) {
    const auto enqueued = EnqueuedIn(row.line);
    ASSERT_TRUE(enqueued) << row.line;
    EXPECT_EQ(enqueued->group, row.group) << row.line;
    EXPECT_EQ(enqueued->number, row.number) << row.line;
  }
  EXPECT_FALSE(EnqueuedIn(kWatchdog));
  EXPECT_FALSE(EnqueuedIn("last enqueued NCCL work: x"));
}

}  // namespace
}  // namespace autodist::chief
