#include "cli/values.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <ctime>

namespace autodist::cli {
namespace {

// Returns "" if the text is valid; it may have been changed.
std::string Check(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(ValuesTest, OneOfNamesOrAllAndTheNearest) {
  EXPECT_EQ(Check(OneOf({"device", "node", "job"}), "node"), "");
  EXPECT_EQ(Check(OneOf({"device", "node", "job"}), "nod"),
            "'nod' is not device, node or job; did you mean node?");
  EXPECT_EQ(Check(OneOf({"stop", "warn"}), "never"), "'never' is not stop or warn");
}

TEST(ValuesTest, WholeNumbersHaveARange) {
  EXPECT_EQ(Check(WholeNumber(1, 4096), "4096"), "");
  for (const char* wrong : {"0", "4097", "-1", "1.5", "x", "3x", "99999999999999999999"}) {
    EXPECT_EQ(Check(WholeNumber(1, 4096), wrong),
              "'" + std::string(wrong) + "' is not a whole number from 1 to 4096");
  }
  EXPECT_EQ(Check(WholeNumber(1, 2), ""),
            "the value is empty; it must be a whole number from 1 to 2");
}

// The converted text, or the error.
std::string After(const CLI::Validator& validator, std::string text) {
  const std::string refusal = validator(text);
  return refusal.empty() ? text : refusal;
}

TEST(ValuesTest, DurationsBecomeSeconds) {
  EXPECT_EQ(After(Duration(0), "0.5"), "0.5");
  EXPECT_EQ(After(Duration(0), "10m"), "600");
  EXPECT_EQ(After(Duration(1), "1.5h"), "5400");
  EXPECT_EQ(After(Duration(0, kMaxTimeout), "200d"), "17280000");
  EXPECT_EQ(After(DurationOrNone(0.1), "0s"), "0");
  EXPECT_EQ(After(DurationOrNone(0.1), "250ms"), "0.25");
  EXPECT_EQ(After(DurationOrAuto(), "auto"), "auto");
  EXPECT_EQ(After(DurationOrAuto(), "1h30m"), "5400");
}

TEST(ValuesTest, AnInvalidDurationIsQuoted) {
  for (const char* wrong : {"-1", "nan", "31d", "1e3", "10:00", "5 x"}) {
    EXPECT_EQ(
        After(Duration(0), wrong),
        "'" + std::string(wrong) + "' is not a duration like 90, 10m, 1h30m or 2d, up to 30d");
  }
  EXPECT_EQ(After(Duration(1), "0.5"),
            "'0.5' is not a duration like 90, 10m, 1h30m or 2d, from 1s to 30d");
  EXPECT_EQ(After(DurationOrNone(0.1), "0.09"),
            "'0.09' is not 0, or a duration like 90, 10m, 1h30m or 2d, from 0.1s to 30d");
  EXPECT_EQ(After(DurationOrAuto(), "never"),
            "'never' is not auto, or a duration like 90, 10m, 1h30m or 2d, up to 3650d");
}

TEST(ValuesTest, SizesBecomeBytes) {
  std::string text = "64K";
  EXPECT_EQ(Size()(text), "");
  EXPECT_EQ(text, "65536");
  EXPECT_EQ(Check(Size(), "many"), "'many' is not a size: bytes, or 64K, 500M, 2G");
}

TEST(ValuesTest, PastTimesAreAgesOrDates) {
  using namespace std::chrono_literals;
  setenv("TZ", "XXX-2", 1);  // east of Greenwich
  tzset();
  const base::WallTime now =
      std::chrono::system_clock::from_time_t(1'795'414'559);  // 08:15:59 there
  const auto ago = [&](const std::string& text) {
    const auto time = PastTime(text, now);
    return time ? std::chrono::duration_cast<std::chrono::milliseconds>(now - *time) : -1ms;
  };
  EXPECT_EQ(ago("30s"), 30s);
  EXPECT_EQ(ago("5m"), 5min);
  EXPECT_EQ(ago("1h30m"), 90min);
  EXPECT_EQ(ago("2d"), 48h);
  EXPECT_EQ(ago("0s"), 0s);
  EXPECT_EQ(ago("2026-11-23T08:15"), 59s);
  EXPECT_EQ(ago("2026-11-23 08:15:58"), 1s);
  EXPECT_EQ(ago("2026-11-23T08:15:58.250"), 750ms);
  EXPECT_EQ(ago("2026-11-23T08:15:58.250+02:00"), 750ms);
  EXPECT_EQ(ago("2026-11-23T06:15:58Z"), 1s);
  EXPECT_EQ(ago("2026-11-22T22:15:59-0800"), 0s);
  EXPECT_EQ(ago("2026-11-23"), 8h + 15min + 59s);
  for (const char* wrong :
       {"", "5", "m", "5x", "5m ", "-5m", "5m3", "99999d99999d", "42949672960s", "2026-11-23T08:16",
        "2026-11-23T08:15x", "2026-13-01", "2999-01-01", "0001-01-01", "yesterday"}) {
    EXPECT_EQ(ago(wrong), -1ms) << wrong;
  }
  EXPECT_EQ(Check(PastTimeText(), "5 moons"),
            "'5 moons' is not a time in the past: 30s, 5m, 2h, 1d, or 2026-11-23T14:03");
  unsetenv("TZ");
  tzset();
}

TEST(ValuesTest, SignalsHaveNamesAndNumbers) {
  EXPECT_EQ(SignalNumber("USR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGTERM"), SIGTERM);
  EXPECT_EQ(SignalNumber("9"), SIGKILL);
  EXPECT_EQ(Check(SignalName(), "NONE"), "'NONE' is not a signal: INT, USR1, 12");
}

TEST(Values, ListenAddressesAreNumeric) {
  EXPECT_EQ(Check(ListenAddressText(), "127.0.0.1:0"), "");
  EXPECT_EQ(Check(ListenAddressText(), "[::1]:9464"), "");
  EXPECT_EQ(Check(ListenAddressText(), "gpu1:9464"),
            "'gpu1:9464' is not ADDRESS:PORT, as in 127.0.0.1:9464 or [::1]:9464");
}

}  // namespace
}  // namespace autodist::cli
