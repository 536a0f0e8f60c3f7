#include "cli/values.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace autodist::cli {
namespace {

// "": it is taken, and may have been changed.
std::string Check(const CLI::Validator& validator, std::string text) { return validator(text); }

TEST(ValuesTest, OneOfNamesAllAndTheNearest) {
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
            "the value is empty; it has to be a whole number from 1 to 2");
}

TEST(ValuesTest, SecondsAreNumbersUpToADay) {
  EXPECT_EQ(Check(Seconds(0), "0.5"), "");
  for (const char* wrong : {"-1", "nan", "86401", "5s"}) EXPECT_NE(Check(Seconds(0), wrong), "");
  EXPECT_NE(Check(Seconds(1), "0.5"), "");
}

TEST(ValuesTest, SizesBecomeBytes) {
  std::string text = "64K";
  EXPECT_EQ(Size()(text), "");
  EXPECT_EQ(text, "65536");
  EXPECT_EQ(Check(Size(), "many"), "'many' is not a size: bytes, or 64K, 500M, 2G");
}

TEST(ValuesTest, SignalsHaveNamesAndNumbers) {
  EXPECT_EQ(SignalNumber("USR1"), SIGUSR1);
  EXPECT_EQ(SignalNumber("SIGTERM"), SIGTERM);
  EXPECT_EQ(SignalNumber("9"), SIGKILL);
  EXPECT_EQ(Check(SignalName(), "NONE"), "'NONE' is not a signal: INT, USR1, 12");
}

}  // namespace
}  // namespace autodist::cli
