#include "chief/attempt/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace autodist::chief
