#include "chief/attempt/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "support/plans.h"

namespace autodist::chief {
namespace {

TEST(DescribeCauseTest, AnAbortIsNamedWithItsStatusAndMessage) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  v1::RankAborted aborted;
  aborted.set_rank(4);
  aborted.set_status(7);
  v1::RankExited exit;
  exit.set_rank(4);
  Cause cause{Cause::Kind::kRankFailed, 2, exit, OkStatus(), 0, aborted};
  EXPECT_EQ(DescribeCause(cause, plan), "rank 4 on node3 called MPI_Abort with 7");
  aborted.set_message("no mesh");
  EXPECT_EQ(HowItEnded(aborted), "called MPI_Abort with 7: no mesh");
}

TEST(DescribeCauseTest, AnOomKillNamesTheExhaustedMemory) {
  v1::RankExited exit;
  exit.set_signal(SIGKILL);
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGKILL");
  v1::OutOfMemory& memory = *exit.mutable_out_of_memory();
  EXPECT_EQ(HowItEnded(exit), "was ended by SIGKILL: the kernel's out-of-memory killer");
  memory.set_limit(uint64_t{4} << 30);
  memory.set_of_cgroup(true);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, at 4.0 GiB of the cgroup");
  memory.set_used(uint64_t{4} << 30);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, at 4.0 of 4.0 GiB of the "
            "cgroup");
  memory.set_of_cgroup(false);
  memory.set_used(900 << 20);
  EXPECT_EQ(HowItEnded(exit),
            "was ended by SIGKILL: the kernel's out-of-memory killer, when it had 900.0 MiB of "
            "the node's 4.0 GiB");
  exit.set_exit_code(137);
  memory.set_used(0);
  EXPECT_EQ(HowItEnded(exit),
            "exited with code 137: the kernel's out-of-memory killer, when there was nothing left "
            "of the node's 4.0 GiB");
}

}  // namespace
}  // namespace autodist::chief
