// Exceptions that nothing expects, while a job runs: it ends in order, with a report.
#include <gmock/gmock.h>

#include <stdexcept>

#include "base/exceptions.h"
#include "base/exit_codes.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

[[noreturn]] void ThrowOutOfRange() { throw std::out_of_range("map::at"); }

class InternalErrorTest : public test::JobTest {
 protected:
  void ThrowAfter(milliseconds time) { loop_.After(time, ThrowOutOfRange); }
  void ExpectReport() {
    EXPECT_THAT(report_, AllOf(StartsWith("internal error: map::at"), HasSubstr("please report it"),
                               HasSubstr("autodist report")));
    EXPECT_THAT(messages_, HasSubstr("please report it"));
    EXPECT_EQ(status_.exit_code(), kExitCannotLaunch);
  }
};

TEST_F(InternalErrorTest, OfATaskStopsTheRanksAndSendsTheAgentsAway) {
  ThrowAfter(seconds(1));
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
  EXPECT_LT(took_, kGrace);
}

TEST_F(InternalErrorTest, FurtherOnesDoNotDisturbTheEnd) {
  for (int i = 0; i < 100; ++i) ThrowAfter(milliseconds(1'000 + i));
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
}

TEST_F(InternalErrorTest, ATimerThatAlwaysThrowsDoesNotDisturbTheEnd) {
  loop_.AddTimer([this] {
    if (nodes_[0].running().empty()) return loop_.Now() + milliseconds(10);
    ThrowOutOfRange();
  });
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
}

TEST_F(InternalErrorTest, OfAnotherThreadIsHandledByTheLoop) {
  loop_.After(seconds(1), [] { base::HandlingExceptions(ThrowOutOfRange); });
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
}

TEST_F(InternalErrorTest, DuringTheStartCancelsIt) {
  nodes_[1].launch_hangs = true;
  ThrowAfter(seconds(1));
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  for (const uint32_t node : {0u, 2u}) EXPECT_TRUE(nodes_[node].gone()) << node;
}

TEST_F(InternalErrorTest, WhileAJobThatWasAskedToStopEndsDoesNotKillItsRanks) {
  for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].ranks_ignore_stop = true;
  Signal(seconds(1));
  ThrowAfter(seconds(2));
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
  EXPECT_GE(took_, kGrace);
}

TEST_F(InternalErrorTest, OfTheNextAttemptStopsTheJob) {
  options_.launch.request.set_max_restarts(1);
  options_.plan_attempt = [](const plan::Replan&) -> Result<v1::LaunchPlan> { ThrowOutOfRange(); };
  AllExit(seconds(1), 3);
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
}

TEST_F(InternalErrorTest, WhileTheJobLeavesDoesNotDisturbIt) {
  AllExit(seconds(1), 0);
  for (int i = 0; i < 100; ++i) ThrowAfter(seconds(1) + milliseconds(i));
  EXPECT_EQ(Run(), kExitCannotLaunch);
  ExpectReport();
  ExpectNothingRuns();
}

}  // namespace
}  // namespace autodist::chief
