#include "base/typed_command.h"

#include <gtest/gtest.h>

namespace autodist::base {
namespace {

TEST(TypedCommandTest, HasTheOptionsThatLeadHere) {
  EXPECT_EQ(TypedCommand("ps --all"), "`autodist ps --all`");
  SetOptionsToGetHere("--spec lab.yaml --chief-on first");
  EXPECT_EQ(TypedCommand("ps --all"), "`autodist ps --all --spec lab.yaml --chief-on first`");
  SetOptionsToGetHere("");
}

}  // namespace
}  // namespace autodist::base
