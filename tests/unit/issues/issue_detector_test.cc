#include "issues/issue_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::issues {
namespace {

using testing::HasSubstr;

// Two nodes with two GPUs and ranks each.
v1::JobSnapshot Healthy(int64_t time_ms) {
  v1::JobSnapshot snapshot;
  snapshot.set_time_ms(time_ms);
  for (uint32_t number = 0; number < 2; ++number) {
    v1::NodeSnapshot& node = *snapshot.add_nodes();
    node.set_address("node" + std::to_string(number + 1));
    node.set_phase(v1::NODE_PHASE_RUNNING);
    for (uint32_t gpu = 0; gpu < 2; ++gpu) {
      node.add_ranks(2 * number + gpu);
      v1::RankSnapshot& rank = *snapshot.add_ranks();
      rank.set_rank(2 * number + gpu);
      rank.set_name("rank " + std::to_string(rank.rank()));
      rank.set_node(number);
      rank.add_gpus(gpu);
      rank.set_state(v1::RANK_STATE_RUNNING);
      v1::GpuSample& sample = *node.mutable_sample()->add_gpus();
      sample.set_index(gpu);
      sample.set_clock(1980);
      sample.set_clock_limit(1980);
    }
  }
  return snapshot;
}

void Throttle(v1::JobSnapshot& snapshot) {
  v1::GpuSample& gpu = *snapshot.mutable_nodes(1)->mutable_sample()->mutable_gpus(0);
  gpu.add_throttled("HW power brake");
  gpu.set_clock(1005);
}

TEST(IssuesTest, AHealthyJobHasNone) {
  EXPECT_TRUE(IssueDetector().Detect(Healthy(1'000)).empty());
  EXPECT_TRUE(IssueDetector().Detect({}).empty());
}

TEST(IssuesTest, AFailedRankIsWorstAndNamesItsNode) {
  v1::JobSnapshot snapshot = Healthy(1'000);
  snapshot.mutable_nodes(0)->set_phase(v1::NODE_PHASE_RECONNECTING);
  snapshot.mutable_ranks(3)->set_state(v1::RANK_STATE_FAILED);
  snapshot.mutable_ranks(3)->set_ended("exited with code 1");
  const auto issues = IssueDetector().Detect(snapshot);
  ASSERT_EQ(issues.size(), 2u);
  EXPECT_EQ(issues[0].kind(), v1::Issue::KIND_FAILED);
  EXPECT_EQ(issues[0].what(), "rank 3 (node2, GPU 1) exited with code 1");
  EXPECT_EQ(issues[1].kind(), v1::Issue::KIND_DISCONNECTED);
  EXPECT_THAT(issues[1].what(), HasSubstr("node1 does not answer"));
}

TEST(IssuesTest, TheFinalReportIsFirst) {
  v1::JobSnapshot snapshot = Healthy(1'000);
  for (const int rank : {1, 3}) {
    snapshot.mutable_ranks(rank)->set_state(v1::RANK_STATE_FAILED);
    snapshot.mutable_ranks(rank)->set_ended("exited with code 1");
  }
  snapshot.mutable_job()->set_exit_code(1);
  snapshot.mutable_job()->set_report(
      "rank 3 on node2 (pid 7) exited with code 1: ValueError: x\n  |");
  auto issues = IssueDetector().Detect(snapshot);
  ASSERT_EQ(issues.size(), 2u);
  EXPECT_EQ(issues[0].what(), "rank 3 on node2 (pid 7) exited with code 1: ValueError: x");
  EXPECT_EQ(issues[1].what(), "rank 1 (node1, GPU 1) exited with code 1");
  snapshot.mutable_job()->set_report(
      "rank 0 on node1 ended with 0 while others went on, 3 s before");
  issues = IssueDetector().Detect(snapshot);
  EXPECT_EQ(issues[0].what(), "rank 0 on node1 ended with 0 while others went on, 3 s before");
  EXPECT_EQ(issues[1].what(), "rank 3 (node2, GPU 1) exited with code 1");
}

TEST(IssuesTest, AGpuIsThrottledIfThatLastsAndTheRankIsNamed) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  Throttle(snapshot);
  EXPECT_TRUE(watch.Detect(snapshot).empty());
  snapshot.set_time_ms(112'000);
  const auto issues = watch.Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].what(),
            "rank 2 (node2, GPU 0) is slow: its GPU is throttled: HW power brake");
  EXPECT_EQ(issues[0].since_ms(), 100'000);
  EXPECT_EQ(issues[0].evidence(0).value(), "1,005 MHz of 1,980; the other 3: 1,980");
}

TEST(IssuesTest, TheOnlyOtherGpuIsNotCounted) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
    node.mutable_sample()->mutable_gpus()->RemoveLast();
  }
  Throttle(snapshot);
  EXPECT_TRUE(watch.Detect(snapshot).empty());
  snapshot.set_time_ms(112'000);
  const auto issues = watch.Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].evidence(0).value(), "1,005 MHz of 1,980; the other one: 1,980");
}

// All GPUs with this clock of 1,980 MHz, throttled for this reason.
std::vector<v1::Issue> IssuesOfAllGpus(double clock, const std::string& reason) {
  IssueDetector detector;
  v1::JobSnapshot snapshot = Healthy(100'000);
  for (v1::NodeSnapshot& node : *snapshot.mutable_nodes()) {
    for (v1::GpuSample& gpu : *node.mutable_sample()->mutable_gpus()) {
      gpu.set_clock(clock);
      gpu.add_throttled(reason);
    }
  }
  (void)detector.Detect(snapshot);
  snapshot.set_time_ms(112'000);
  return detector.Detect(snapshot);
}

TEST(IssuesTest, AllGpusAtTheirPowerLimitAreHealthy) {
  EXPECT_TRUE(IssuesOfAllGpus(1400, "SW power cap").empty());
}

TEST(IssuesTest, AllProtectivelyThrottledGpusAreSlow) {
  EXPECT_TRUE(IssuesOfAllGpus(1900, "HW thermal slowdown").empty());
  const auto issues = IssuesOfAllGpus(1400, "SW thermal slowdown");
  ASSERT_EQ(issues.size(), 4u);
  EXPECT_EQ(issues[0].cost(), "its clock is 29.3 % below its limit");
}

TEST(IssuesTest, AGpuErrorIsShownAtOnce) {
  v1::JobSnapshot snapshot = Healthy(1'000);
  snapshot.mutable_nodes(1)->mutable_sample()->mutable_gpus(1)->set_xid(79);
  const auto issues = IssueDetector().Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].what(), "rank 3 (node2, GPU 1): the driver reported a GPU error, XID 79");
}

TEST(IssuesTest, AFaultOfAGpuIsShownAtOnce) {
  v1::JobSnapshot snapshot = Healthy(1'000);
  snapshot.mutable_nodes(1)->mutable_sample()->mutable_gpus(1)->add_faults("must be\x1b reset");
  const auto issues = IssueDetector().Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].kind(), v1::Issue::KIND_WARNING);
  EXPECT_EQ(issues[0].what(),
            "rank 3 (node2, GPU 1): nvidia-smi reports that the GPU must be\\x1b reset");
}

TEST(IssuesTest, BriefThrottlingDoesNotCount) {
  IssueDetector watch;
  v1::JobSnapshot throttled = Healthy(100'000);
  Throttle(throttled);
  watch.Detect(throttled);
  watch.Detect(Healthy(105'000));
  throttled.set_time_ms(112'000);
  EXPECT_TRUE(watch.Detect(throttled).empty());
}

TEST(IssuesTest, SamplesOfADisconnectedNodeAreNoEvidence) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  Throttle(snapshot);
  snapshot.mutable_nodes(1)->set_phase(v1::NODE_PHASE_LOST);
  watch.Detect(snapshot);
  snapshot.set_time_ms(200'000);
  const auto issues = watch.Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].what(), "node2 is lost, with ranks 2-3");
}

TEST(IssuesTest, ARankWithLongerStepsIsSlowIfThatLasts) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) rank.mutable_progress()->set_rate(2.1);
  EXPECT_TRUE(watch.Detect(snapshot).empty());
  snapshot.mutable_ranks(1)->mutable_progress()->set_rate(1.5);
  EXPECT_TRUE(watch.Detect(snapshot).empty());
  snapshot.set_time_ms(131'000);
  const auto issues = watch.Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].what(), "rank 1 (node1, GPU 1) is 1.4 x slower than the median");
}

TEST(IssuesTest, CoresUsedByOthersAreAnIssueIfNoneIsFree) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  v1::HostSample& host = *snapshot.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_cores(8);
  host.set_cpu(0.99);
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) rank.mutable_sample()->set_cpu(2);
  watch.Detect(snapshot);
  snapshot.set_time_ms(111'000);
  ASSERT_EQ(watch.Detect(snapshot).size(), 1u);
  EXPECT_THAT(watch.Detect(snapshot)[0].what(), HasSubstr("other programs use 3.9 cores of 8"));
  host.set_cpu_pressure(0.01);  // no process waits for a core
  EXPECT_TRUE(watch.Detect(snapshot).empty());
  host.clear_cpu_pressure();
  host.set_cpu(0.6);  // cores are free
  EXPECT_TRUE(watch.Detect(snapshot).empty());
}

TEST(IssuesTest, BusyCoresAreNoIssueForStalledRanks) {
  IssueDetector watch;
  v1::JobSnapshot snapshot = Healthy(100'000);
  v1::HostSample& host = *snapshot.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_cores(8);
  host.set_cpu(1);
  for (v1::RankSnapshot& rank : *snapshot.mutable_ranks()) rank.mutable_sample()->set_cpu(0.01);
  watch.Detect(snapshot);
  snapshot.set_time_ms(111'000);
  EXPECT_TRUE(watch.Detect(snapshot).empty());
}

TEST(IssuesTest, AFullDiskIsReportedWithItsFreeSpace) {
  v1::JobSnapshot snapshot = Healthy(1'000);
  v1::HostSample& host = *snapshot.mutable_nodes(0)->mutable_sample()->mutable_host();
  host.set_disk_total(uint64_t{1} << 40);
  host.set_disk_free(uint64_t{5} << 20);
  const auto issues = IssueDetector().Detect(snapshot);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_THAT(issues[0].what(), HasSubstr("full but for 5.0 MiB"));
}

}  // namespace
}  // namespace autodist::issues
