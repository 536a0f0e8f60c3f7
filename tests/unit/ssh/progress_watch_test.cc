#include "ssh/channel_pump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::ssh {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(ProgressWatchTest, AConnectionThatAcceptsNoDataForTooLongIsBroken) {
  ProgressWatch watch(milliseconds(0));
  EXPECT_EQ(watch.Turn(1, true), OkStatus());
  EXPECT_EQ(watch.Turn(2, true), OkStatus());
  EXPECT_EQ(watch.Turn(2, false), OkStatus());
  EXPECT_EQ(watch.Turn(2, true), OkStatus());
  const Status status = watch.Turn(2, true);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(Message(status), HasSubstr("has accepted no data for 0 s"));
}

TEST(ProgressWatchTest, ADeadlineOnlyWhileThereIsDataToSend) {
  ProgressWatch watch(milliseconds(60'000));
  EXPECT_EQ(watch.Turn(1, false), OkStatus());
  EXPECT_EQ(watch.deadline().PollTimeout(), -1);
  EXPECT_EQ(watch.Turn(1, true), OkStatus());
  EXPECT_GT(watch.deadline().PollTimeout(), 0);
}

TEST(ProgressWatchTest, IterationsWithoutProgressAreCounted) {
  ProgressWatch watch;
  for (int i = 0; i < ProgressWatch::kMaxIdleTurns; ++i) {
    ASSERT_EQ(watch.Turn(0, false), OkStatus());
  }
  ASSERT_EQ(watch.Turn(1, false), OkStatus());
  for (int i = 0; i < ProgressWatch::kMaxIdleTurns; ++i) {
    ASSERT_EQ(watch.Turn(1, false), OkStatus());
  }
  EXPECT_THAT(Message(watch.Turn(1, false)), HasSubstr("no data pass"));
}

}  // namespace
}  // namespace autodist::ssh
