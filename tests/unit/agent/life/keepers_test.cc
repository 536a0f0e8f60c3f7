#include "agent/life/keepers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

namespace autodist::agent {
namespace {

TEST(KeepersTest, OnlyVisibleProcessesAreKnownToHaveEnded) {
  const std::string boot(32, 'a');
  const std::string other_boot(32, 'b');
  struct Case {
    std::string agent, ours;
    Absence absence;
  };
  const Case cases[] = {
      {boot + "-1", boot + "-1", Absence::kEnded},
      {boot + "-1", boot + "-2", Absence::kUncertain},  // another container
      {boot + "-1", other_boot + "-1", Absence::kMachineRestarted},
      {"", boot + "-1", Absence::kUncertain},
      {boot + "-1", "", Absence::kUncertain},
      {"x", "x", Absence::kUncertain},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(AbsenceIn(one.agent, one.ours), one.absence) << one.agent << " " << one.ours;
  }
}

TEST(KeepersTest, TheScopeIsAnIdentifier) {
  const std::string scope = ProcessScope();
  EXPECT_LE(scope.size(), 64u);
  EXPECT_TRUE(std::ranges::all_of(scope, [](unsigned char c) {
    return std::isalnum(c) || c == '-';
  })) << scope;
  EXPECT_EQ(AbsenceIn(scope, ProcessScope()), Absence::kEnded);
}

TEST(KeepersTest, AnUnknownJobHasNoKeepers) {
  EXPECT_TRUE(KeepersOf("no-such-job.0").empty());
  AwaitNoKeepers("no-such-job.0");
}

}  // namespace
}  // namespace autodist::agent
