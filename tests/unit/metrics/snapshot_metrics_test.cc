#include "metrics/snapshot_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>

#include "metrics/family.h"
#include "support/example_snapshot.h"

namespace autodist::metrics {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::vector<Family> Example() { return MetricsOf(test::ExampleSnapshot(), test::kSnapshotTime); }

std::vector<Sample> SamplesOf(const std::vector<Family>& families, const std::string& name) {
  for (const Family& family : families) {
    if (family.name == name) return family.samples;
  }
  return {};
}

// The value with this label.
std::optional<double> ValueOf(const std::vector<Family>& families, const std::string& name,
                              const Label& label) {
  for (const Sample& sample : SamplesOf(families, name)) {
    if (std::ranges::find(sample.labels, label) != sample.labels.end()) return sample.value;
  }
  return std::nullopt;
}

// Set UPDATE_GOLDEN=1 to update the file after an intended change.
TEST(SnapshotMetrics, EqualTheGoldenFile) {
  const std::string path = TEST_SOURCE_DIR "/golden/metrics.txt";
  const std::string text = AsText(Example(), Format::kText);
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(SnapshotMetrics, DisconnectedNodesHaveNoSamples) {
  const auto families = Example();
  const Label node{"node", "10.0.0.2"};
  EXPECT_EQ(ValueOf(families, "autodist_node_last_contact_seconds", node), 30);
  EXPECT_EQ(ValueOf(families, "autodist_node_cpu_ratio", node), std::nullopt);
  EXPECT_EQ(ValueOf(families, "DCGM_FI_DEV_GPU_UTIL", {"Hostname", "10.0.0.2"}), std::nullopt);
  EXPECT_EQ(ValueOf(families, "autodist_rank_state", {"state", "disconnected"}), 1);
  for (const char* rank : {"2", "3"}) {
    EXPECT_EQ(ValueOf(families, "autodist_rank_cpu_cores", {"rank", rank}), std::nullopt);
    EXPECT_EQ(ValueOf(families, "autodist_rank_silent_seconds", {"rank", rank}), std::nullopt);
  }
}

TEST(SnapshotMetrics, UnknownValuesAreAbsentAndNot0) {
  v1::JobSnapshot snapshot;
  snapshot.mutable_job()->set_job_id("job-1");
  snapshot.add_nodes()->set_address("10.0.0.1");
  snapshot.mutable_nodes(0)->set_phase(v1::NODE_PHASE_RUNNING);
  snapshot.mutable_nodes(0)->mutable_sample()->mutable_host();
  snapshot.mutable_nodes(0)->mutable_sample()->add_gpus();
  snapshot.add_ranks()->set_state(v1::RANK_STATE_RUNNING);
  snapshot.mutable_ranks(0)->mutable_sample();
  const auto families = MetricsOf(snapshot, test::kSnapshotTime);
  std::vector<std::string> names;
  for (const Family& family : families) names.push_back(family.name);
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(
                  "autodist_job_info", "autodist_job_phase", "autodist_job_restarts_total",
                  "autodist_job_restarts_allowed", "autodist_job_ranks", "autodist_job_nodes",
                  "autodist_job_issues", "autodist_rank_state", "autodist_node_phase"));
}

TEST(SnapshotMetrics, TheTimeOfAJobStopsAtItsEnd) {
  v1::JobSnapshot snapshot = test::ExampleSnapshot();
  snapshot.mutable_job()->set_phase(v1::JOB_PHASE_ENDED);
  snapshot.mutable_job()->set_ended_ms(test::kSnapshotTime + 5'000);
  snapshot.mutable_job()->set_exit_code(3);
  const auto families = MetricsOf(snapshot, test::kSnapshotTime + 60'000);
  const Label job{"job_id", "1123-141500-7a3c"};
  EXPECT_EQ(ValueOf(families, "autodist_job_elapsed_seconds", job), 105);
  EXPECT_EQ(ValueOf(families, "autodist_job_exit_code", job), 3);
  EXPECT_EQ(ValueOf(Example(), "autodist_job_exit_code", job), std::nullopt);
}

TEST(SnapshotMetrics, AClockThatWentBackCausesNoNegativeTimes) {
  const auto families = MetricsOf(test::ExampleSnapshot(), 1'600'000'000'000);
  EXPECT_EQ(ValueOf(families, "autodist_node_last_contact_seconds", {"node", "10.0.0.1"}), 0);
}

TEST(SnapshotMetrics, NoTwoSamplesHaveTheSameLabels) {
  for (const Family& family : Example()) {
    for (size_t i = 0; i < family.samples.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        EXPECT_NE(family.samples[i].labels, family.samples[j].labels) << family.name;
      }
    }
  }
  // Reported twice; the first value counts.
  EXPECT_EQ(ValueOf(Example(), "autodist_training_metric", {"name", "loss"}), 0.25);
}

TEST(SnapshotMetrics, HaveValidPrometheusNames) {
  for (const Family& family : Example()) {
    EXPECT_THAT(family.name, testing::MatchesRegex("[a-zA-Z_]+")) << family.name;
    EXPECT_EQ(family.type == Type::kCounter, family.name.ends_with("_total")) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    const bool dcgm = family.name.starts_with("DCGM_FI_DEV_");
    EXPECT_TRUE(dcgm || family.name.starts_with("autodist_")) << family.name;
    EXPECT_THAT(family.samples,
                Each(Field(&Sample::labels,
                           Contains(Label{dcgm ? "hpc_job" : "job_id", "1123-141500-7a3c"}))));
  }
}

TEST(SnapshotMetrics, LongTextOfAProgramIsTruncatedAndEscaped) {
  v1::JobSnapshot snapshot = test::ExampleSnapshot();
  snapshot.mutable_progress()->clear_metrics();
  for (int i = 0; i < 1000; ++i) {
    v1::Metric& metric = *snapshot.mutable_progress()->add_metrics();
    metric.set_name(std::to_string(i) + "\x1b[2J\n# EOF\n" + std::string(10'000, 'x'));
    metric.set_value(1);
  }
  const auto samples =
      SamplesOf(MetricsOf(snapshot, test::kSnapshotTime), "autodist_training_metric");
  EXPECT_EQ(samples.size(), 64u);
  for (const Sample& sample : samples) {
    EXPECT_LE(sample.labels.back().value.size(), 400u);
    EXPECT_THAT(sample.labels.back().value, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
  }
}

TEST(SnapshotMetrics, RanksOfMissingNodesHaveNoNode) {
  v1::JobSnapshot snapshot = test::ExampleSnapshot();
  snapshot.mutable_ranks(0)->set_node(0xffffffff);
  snapshot.mutable_issues(0)->add_ranks(0xffffffff);
  const auto families = MetricsOf(snapshot, test::kSnapshotTime);
  EXPECT_EQ(ValueOf(families, "autodist_rank_threads", {"rank", "0"}), 40);
}

}  // namespace
}  // namespace autodist::metrics
