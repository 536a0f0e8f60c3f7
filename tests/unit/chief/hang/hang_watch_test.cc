#include "chief/hang/hang_watch.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using std::chrono::seconds;

HangWatch::Time At(seconds time) { return HangWatch::Time(std::chrono::hours(1) + time); }

TEST(HangWatchTest, TellsEachHangOnce) {
  HangWatch watch(seconds(10));
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

TEST(HangWatchTest, WithoutALimitNothingHangs) {
  HangWatch watch(seconds(0));
  EXPECT_FALSE(watch.Hangs(At(seconds(1'000'000))));
  EXPECT_EQ(watch.next(), HangWatch::Time::max());
}

}  // namespace
}  // namespace autodist::chief
