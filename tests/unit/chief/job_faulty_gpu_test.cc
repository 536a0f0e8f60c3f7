// What is remembered of a node whose driver reported an error of a GPU, on simulated nodes.
#include <gmock/gmock.h>

#include "agent_sim/events.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using test::JobTest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Ranks 0 and 1 are on GPUs 1 and 3 of the first node.
class JobFaultyGpuTest : public JobTest {
 protected:
  JobFaultyGpuTest() {
    options_.on_faulty_node = [this](const std::string& address, const std::string& why) {
      EXPECT_THAT(why, HasSubstr("fell off the bus (XID 79)"));
      remembered_.push_back(address);
    };
  }
  // A rank fails, and the GPU, of which the driver has the number, fell off the bus.
  void RankFails(uint32_t node, uint32_t rank, uint32_t gpu) {
    loop_.After(seconds(5), [this, node, rank, gpu] {
      v1::AgentEvent event = test::RankExited(rank, 1);
      v1::GpuError& error = *event.mutable_rank_exited()->add_gpu_errors();
      error.set_xid(79);
      error.set_needs_repair(true);
      error.set_gpu(gpu);
      nodes_[node].SendReliably(event);
    });
  }

  std::vector<std::string> remembered_;
};

TEST_F(JobFaultyGpuTest, ANodeWhoseGpuFailedIsRemembered) {
  RankFails(0, 1, 3);
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(report_, HasSubstr("GPU 3 of rank 1 on 10.0.0.1 fell off the bus"));
  EXPECT_THAT(remembered_, ElementsAre("10.0.0.1"));
}

TEST_F(JobFaultyGpuTest, AGpuThatTheJobDoesNotUseIsNotTheCause) {
  RankFails(0, 1, 7);
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(report_, Not(HasSubstr("fell off the bus")));
  EXPECT_THAT(remembered_, IsEmpty());
}

TEST_F(JobFaultyGpuTest, ANodeWithoutGpusOfTheJobIsNotBlamed) {
  RankFails(2, 4, 1);
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(report_, Not(HasSubstr("fell off the bus")));
  EXPECT_THAT(remembered_, IsEmpty());
}

TEST_F(JobFaultyGpuTest, NothingIsRememberedAfterAnInterruption) {
  nodes_[0].ranks_ignore_stop = true;  // until it fails
  Signal(seconds(4));
  RankFails(0, 1, 3);
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(remembered_, IsEmpty());
}

TEST_F(JobFaultyGpuTest, NothingIsRememberedWithoutHealthChecks) {
  options_.launch.request.set_health(v1::HEALTH_OFF);
  RankFails(0, 1, 3);
  EXPECT_NE(Run(), 0);
  EXPECT_THAT(remembered_, IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
