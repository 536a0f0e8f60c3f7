#include "chief/hang/hang_response.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

HangWatch::Time At(seconds time) { return HangWatch::Time(std::chrono::hours(1) + time); }

TEST(HangWatchTest, ReportsEachHangOnce) {
  HangWatch watch({.fixed = seconds(10)});
  watch.Alive(At(seconds(0)));
  EXPECT_EQ(watch.next(), At(seconds(10)));
  EXPECT_FALSE(watch.Hangs(At(seconds(9))));
  EXPECT_TRUE(watch.Hangs(At(seconds(10))));
  EXPECT_FALSE(watch.Hangs(At(seconds(11))));
  EXPECT_EQ(watch.next(), HangWatch::Time::max());
  watch.Alive(At(seconds(12)));
  EXPECT_FALSE(watch.Hangs(At(seconds(12))));
  EXPECT_TRUE(watch.Hangs(At(seconds(22))));
}

TEST(HangWatchTest, AKnownStepTimeIsTheLimit) {
  HangWatch watch({.by_steps = true});
  watch.Begin(At(seconds(0)));
  watch.Alive(At(seconds(300)));
  EXPECT_EQ(watch.next(), HangWatch::Time::max()) << "who knows what it loads or compiles";
  watch.StepTakes(milliseconds(200));
  EXPECT_EQ(watch.limit(), HangLimit::kMin) << "silences before do not count";
  watch.StepTakes(seconds(20));
  EXPECT_EQ(watch.limit(), seconds(200));
  EXPECT_FALSE(watch.Hangs(At(seconds(499))));
  EXPECT_TRUE(watch.Hangs(At(seconds(500))));
  watch.Begin(At(seconds(600)));
  EXPECT_EQ(watch.next(), HangWatch::Time::max()) << "another attempt";
}

TEST(HangWatchTest, PreviousSilencesMayRepeatAndGrow) {
  HangWatch watch({.by_steps = true});
  watch.Begin(At(seconds(0)));
  watch.StepTakes(milliseconds(200));
  watch.Alive(At(seconds(50)));
  watch.Alive(At(seconds(51)));
  EXPECT_EQ(watch.limit(), seconds(150));
  EXPECT_FALSE(watch.Hangs(At(seconds(200))));
  EXPECT_TRUE(watch.Hangs(At(seconds(201))));
}

TEST(HangWatchTest, WithoutALimitThereAreNoHangs) {
  HangWatch watch({});
  EXPECT_FALSE(watch.Hangs(At(seconds(1'000'000))));
  EXPECT_EQ(watch.next(), HangWatch::Time::max());
}

}  // namespace
}  // namespace autodist::chief
