#include "cli/jobs_in_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

v1::JobStatus JobOn(const std::vector<std::string>& addresses) {
  v1::JobStatus job;
  job.set_job_id("7");
  job.set_name("first");
  job.set_started_ms(1'000);
  for (const std::string& address : addresses) job.add_nodes()->set_address(address);
  return job;
}

// The first node is this machine.
v1::LaunchPlan PlanOf(const std::vector<std::string>& addresses) {
  v1::LaunchPlan plan;
  for (const std::string& address : addresses) {
    v1::NodePlan& node = *plan.add_nodes();
    node.set_node_rank(static_cast<uint32_t>(plan.nodes_size() - 1));
    node.set_address(address);
    if (plan.nodes_size() == 1) {
      node.mutable_reach()->mutable_local();
    } else {
      node.mutable_reach()->mutable_ssh();
    }
  }
  return plan;
}

TEST(JobsInFolderTest, WarnsOfNodesOfBothJobs) {
  const auto warnings =
      WarningsOfRunning({JobOn({"a", "c", "d"}), JobOn({"a", "x"})}, PlanOf({"a", "b", "c", "d"}));
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0].nodes, ElementsAre(2, 3));
  EXPECT_THAT(warnings[0].text,
              StartsWith("files that differ are copied under job 7 (first), which runs in this "
                         "folder (since "));
  EXPECT_THAT(warnings[0].text, HasSubstr("); nodes of both jobs: c and d\n"));
  EXPECT_THAT(warnings[0].text, HasSubstr("`autodist stop 7` ends it"));
  EXPECT_THAT(warnings[0].text, Not(HasSubstr("prune")));
}

TEST(JobsInFolderTest, AWarningNamesAFewOfManyNodes) {
  const std::vector<std::string> addresses = {"a", "b", "c", "d", "e", "f"};
  const auto warnings = WarningsOfRunning({JobOn(addresses)}, PlanOf(addresses));
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_THAT(warnings[0].nodes, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(warnings[0].text, HasSubstr("; nodes of both jobs: b, c, d and 2 others\n"));
}

TEST(JobsInFolderTest, OfNoRunningJobThereIsNoWarning) {
  EXPECT_THAT(WarningsOfRunning({}, PlanOf({"a", "b"})), IsEmpty());
  EXPECT_TRUE(CheckNoneRuns({}).ok());
}

TEST(JobsInFolderTest, ARunningJobPreventsSyncDelete) {
  v1::JobStatus job = JobOn({"a"});
  job.set_elsewhere(true);
  const Status refused = CheckNoneRuns({job});
  EXPECT_THAT(Message(refused),
              StartsWith("--sync-delete might delete files of job 7 (first), which runs in this "
                         "folder (since "));
  EXPECT_EQ(Remedy(refused),
            "`autodist stop 7` ends it; if it has ended, `autodist prune 7` forgets it");
}

}  // namespace
}  // namespace autodist::cli
