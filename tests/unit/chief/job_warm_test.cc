// --warm: which nodes are asked to keep Pythons for the next attempt, and when, in simulated time.
#include <gmock/gmock.h>

#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using test::JobTest;
using testing::ElementsAre;

// The last of three nodes is a spare. No rank reports steps, so the chief asks after 30 s.
class JobWarmTest : public JobTest {
 protected:
  JobWarmTest() : JobTest(test::EqualNodes()) {
    options_.launch.request.set_spares(1);
    options_.launch.request.set_warm("torch,flash_attn");
    options_.launch.request.set_timeout(7'200);  // a job that does not end fails
    for (uint32_t node = 0; node < nodes_.size(); ++node) nodes_[node].lease = kLease;
  }
  // How often each node has been asked.
  std::vector<int> Asked() {
    std::vector<int> asked;
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      asked.push_back(0);
      for (const v1::ChiefMessage& message : nodes_[node].received) {
        if (!message.has_keep_warm()) continue;
        ++asked.back();
        EXPECT_EQ(message.keep_warm().modules(), "torch,flash_attn");
      }
    }
    return asked;
  }
  void ExpectAsked(seconds time, int first, int second, int spare) {
    loop_.After(time, [this, first, second, spare] {
      EXPECT_THAT(Asked(), ElementsAre(first, second, spare));
    });
  }
};

TEST_F(JobWarmTest, MembersAndSparesAreAskedOnceInAnAttempt) {
  ExpectAsked(seconds(29), 0, 0, 0);
  ExpectAsked(seconds(33), 1, 1, 1);
  ExpectAsked(seconds(119), 1, 1, 1);
  AllExit(seconds(120), 0);
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobWarmTest, ANodeThatReturnsAsASpareIsAsked) {
  ExpectAsked(seconds(33), 1, 1, 1);
  loop_.After(seconds(40), [this] { nodes_[1].Die(); });
  loop_.After(seconds(60), [this] {
    EXPECT_TRUE(nodes_[1].connected());
    nodes_[1].unreachable = true;
    nodes_[1].Die();
  });
  ExpectAsked(seconds(80), 2, 1, 2);  // by the attempt on the spare
  loop_.After(seconds(90), [this] { nodes_[1].unreachable = false; });
  loop_.After(seconds(200), [this] {
    EXPECT_THAT(Asked(), ElementsAre(2, 2, 2)) << "in the middle of an attempt";
    nodes_[0].ExitAll(0);
    nodes_[2].ExitAll(0);
  });
  EXPECT_EQ(Run(), 0);
}

TEST_F(JobWarmTest, WithoutTheOptionNoNodeIsAsked) {
  options_.launch.request.clear_warm();
  ExpectAsked(seconds(119), 0, 0, 0);
  AllExit(seconds(120), 0);
  EXPECT_EQ(Run(), 0);
}

}  // namespace
}  // namespace autodist::chief
