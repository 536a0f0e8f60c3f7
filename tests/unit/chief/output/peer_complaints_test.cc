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

}  // namespace
}  // namespace autodist::chief
