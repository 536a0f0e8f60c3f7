// Recovery of jobs on simulated nodes, in simulated time: times that run beside each other, nodes
// that fail while an attempt is made ready, and a chief that did not run for a while.
#include <gmock/gmock.h>

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

// As when it was suspended, or its machine did not run.
TEST_F(JobRecoveryTest, AChiefThatDidNotRunBlamesNoNodeForSlowRanks) {
  loop_.After(seconds(5), [this] { nodes_[0].ExitAll(7); });
  loop_.After(milliseconds(5'003), [this] { loop_.Sleep(seconds(45)); });
  AllSucceedFrom(seconds(100), seconds(120));
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(messages_, Not(HasSubstr("lost")));
}

TEST_F(JobRecoveryTest, AChiefThatDidNotRunTakesNoRankForHung) {
  options_.launch.request.set_hang_timeout("30");
  loop_.After(seconds(5), [this] { nodes_[2].Write(4, "step 1\n"); });
  loop_.After(seconds(10), [this] { loop_.Sleep(seconds(40)); });
  loop_.After(seconds(60), [this] { nodes_[2].Write(4, "step 2\n"); });
  AllExit(seconds(70), 0);
  EXPECT_EQ(Run(), 0);
}

}  // namespace
}  // namespace autodist::chief
