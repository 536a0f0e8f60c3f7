// Recovery of jobs on simulated nodes, in simulated time: times that run beside each other, nodes
// that fail while an attempt is made ready, and a chief that did not run for a while.
#include <gmock/gmock.h>

#include "base/exit_codes.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JobTest;
using testing::HasSubstr;
using testing::Not;

class JobRecoveryTest : public JobTest {
 protected:
  explicit JobRecoveryTest(const plan::Input& input = test::ThreeNodeInput()) : JobTest(input) {
    options_.launch.request.set_max_restarts(1);
    options_.launch.request.set_timeout(7'200);  // a job that does not end fails
  }
  // Each second from the given time on, so that the last attempt ends at some time.
  void AllSucceedFrom(seconds time, seconds until) {
    for (; time <= until; time += seconds(1)) AllExit(time, 0);
  }
};

// Without spares, ranks have their grace period after the lease.
TEST_F(JobRecoveryTest, ANodeIsReachedAgainAlthoughItsRanksMayRunForLong) {
  constexpr seconds kShortLease{10};
  options_.launch.request.set_lease(test::InSeconds(kShortLease));
  nodes_[1].lease = kShortLease;
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = false; });
  AllSucceedFrom(seconds(100), seconds(120));
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(planned_.size(), 1u);
}

// No rank has started, so no attempt has failed.
TEST_F(JobRecoveryTest, ANodeLostBeforeTheRanksOfARestartStartCostsNoRestart) {
  loop_.TakesTimeInBackground(seconds(2));  // while logs are opened
  loop_.After(seconds(5), [this] { nodes_[0].ExitAll(7); });
  loop_.After(milliseconds(6'500), [this] {
    EXPECT_EQ(nodes_[1].prepares, 1);
    nodes_[1].Die();
  });
  AllSucceedFrom(seconds(100), seconds(120));
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobRecoveryTest, ANodeWhoseConnectionBreaksInEachPreparationIsLeftOutIfOthersSuffice) {
  options_.launch.request.set_min_nodes(2);
  int prepares = 0;
  const std::function<void()> break_while_prepared = [&] {
    if (std::exchange(prepares, nodes_[1].prepares) < nodes_[1].prepares) {
      loop_.After(milliseconds(500), [this] { nodes_[1].Break(); });
    }
    loop_.After(milliseconds(10), break_while_prepared);
  };
  loop_.After(seconds(5), [&] {
    nodes_[1].preparing_takes = seconds(1);
    break_while_prepared();
    nodes_[0].ExitAll(7);
  });
  AllSucceedFrom(seconds(100), seconds(120));
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobRecoveryTest, ATimeoutThatEndsTheWaitForALostNodeIsNamed) {
  options_.launch.request.set_timeout(90);
  loop_.After(seconds(5), [this] {
    nodes_[1].Die();
    nodes_[1].unreachable = true;
  });
  EXPECT_EQ(Run(), kExitCannotLaunch);
  EXPECT_THAT(messages_, HasSubstr("--timeout expired: no further restart"));
  EXPECT_THAT(messages_, HasSubstr("was lost"));
}

TEST_F(JobRecoveryTest, ATimeoutAfterTheLastAllowedAttemptPreventsNoRestart) {
  options_.launch.request.set_timeout(65);
  nodes_[0].ranks_ignore_stop = true;
  for (const int time : {5, 60}) loop_.After(seconds(time), [this] { nodes_[1].Exit(3, 7); });
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(planned_.size(), 1u);
  EXPECT_THAT(messages_, Not(HasSubstr("--timeout expired")));
  EXPECT_THAT(report_, Not(HasSubstr("--timeout expired")));
}

// As when it was suspended, or its machine did not run.
TEST_F(JobRecoveryTest, AChiefThatDidNotRunBlamesNoNodeForSlowRanks) {
  loop_.After(seconds(5), [this] { nodes_[0].ExitAll(7); });
  loop_.After(milliseconds(5'003), [this] { loop_.Sleep(seconds(45)); });
  AllSucceedFrom(seconds(100), seconds(120));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("lost")));
}

TEST_F(JobRecoveryTest, AChiefThatDidNotRunStillAwaitsNodes) {
  loop_.After(seconds(5), [this] { nodes_[1].Die(); });
  loop_.After(milliseconds(5'005), [this] { nodes_[1].unreachable = true; });  // it is lost
  loop_.After(seconds(10), [this] { loop_.Sleep(seconds(90)); });
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = false; });
  AllSucceedFrom(seconds(120), seconds(150));
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobRecoveryTest, AChiefThatDidNotRunTakesNoRankForHung) {
  options_.launch.request.set_hang_timeout("30");
  loop_.After(seconds(5), [this] { nodes_[2].Write(4, "step 1\n"); });
  loop_.After(seconds(10), [this] { loop_.Sleep(seconds(40)); });
  loop_.After(seconds(60), [this] { nodes_[2].Write(4, "step 2\n"); });
  AllExit(seconds(70), 0);
  EXPECT_EQ(Run(), 0);
}

class SpareRecoveryTest : public JobRecoveryTest {
 protected:
  SpareRecoveryTest() : JobRecoveryTest(test::EqualNodes()) {
    options_.launch.request.set_spares(1);
    for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].lease = kLease;
  }
};

TEST_F(SpareRecoveryTest, AnAgentWhoseLastConnectionBreaksIsNotLost) {
  AllExit(seconds(5), 0);
  const std::function<void()> die_at_the_end = [&] {
    const auto& received = nodes_[2].received;
    const bool ends = std::ranges::any_of(received, &v1::ChiefMessage::has_shutdown);
    loop_.After(milliseconds(1), ends ? [this] { nodes_[2].Die(); } : die_at_the_end);
  };
  loop_.After(seconds(4), die_at_the_end);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("lost")));
}

}  // namespace
}  // namespace autodist::chief
