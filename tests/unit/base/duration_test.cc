#include "base/duration.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(DurationTest, ValidDurations) {
  const std::pair<const char*, double> kRight[] = {
      {"90", 90},
      {"0", 0},
      {"0.5", 0.5},
      {".5", 0.5},
      {"10m", 600},
      {"2d", 172'800},
      {"1h30m", 5400},
      {"1.5h", 5400},
      {"30s", 30},
      {"250ms", 0.25},
      {"1w", 604'800},
      {"10min", 600},
      {"10 min", 600},
      {"2 days", 172'800},
      {"1 hour 30 minutes", 5400},
      {"90sec", 90},
      {"3H", 10'800},
      {"1d2h3m4s", 93'784},
      {"0s", 0},
      {"100000", 100'000},
      {"1h 30m", 5400},
  };
  for (const auto& [text, seconds] : kRight) {
    const auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_DOUBLE_EQ(*parsed, seconds) << text;
  }
}

TEST(DurationTest, InvalidDurations) {
  for (const char* wrong :
       {"",      " ",          "m",   "5x",   "-5",       "-5m",  "+5",    "5m3",      "1h30",
        "1..5h", "1.5.2",      "nan", "inf",  "infinity", "1e3",  "0x10",  "5m ",      " 5m",
        "10:00", "1-00:00:00", "5 ",  "auto", "5m-3s",    "1,5h", "5 m x", "\xc2\xb5s"}) {
    EXPECT_FALSE(ParseDuration(wrong)) << wrong;
  }
}

TEST(DurationTest, TextIsParsedBack) {
  const std::pair<double, const char*> kTexts[] = {
      {0, "0s"},       {0.5, "0.5s"},   {30, "30s"},      {60, "1m"},      {90, "1m30s"},
      {5400, "1h30m"}, {172'800, "2d"}, {86'401, "1d1s"}, {60.5, "60.5s"},
  };
  for (const auto& [seconds, text] : kTexts) {
    EXPECT_EQ(DurationText(seconds), text);
    EXPECT_EQ(ParseDuration(text), seconds);
  }
}

}  // namespace
}  // namespace autodist::base
