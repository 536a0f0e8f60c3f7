#include "chief/snapshot/job_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "issues/issue.h"
#include "issues/thresholds.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

constexpr int64_t kNow = 1'795'440'000'000;

class IssueWarningsTest : public testing::Test {
 protected:
  IssueWarningsTest() {
    snapshot_.set_time_ms(kNow);
    snapshot_.mutable_job()->set_phase(v1::JOB_PHASE_RUNNING);
    for (int node = 1; node <= 4; ++node) {
      snapshot_.add_nodes()->set_address("node" + std::to_string(node));
    }
  }

  v1::Issue& Add(v1::Issue::Kind kind, uint32_t rank, const std::string& what,
                 const std::string& cause, int lasted_s) {
    v1::Issue& issue = *snapshot_.add_issues();
    issue.set_kind(kind);
    issue.add_ranks(rank);
    issue.add_nodes(rank / 2);
    issue.set_what(what);
    issue.set_since_ms(kNow - lasted_s * 1000);
    issue.add_evidence()->set_what(cause);
    return issue;
  }
  v1::Issue& AddSlow(uint32_t rank, int lasted_s) {
    return Add(v1::Issue::KIND_SLOW, rank, "rank " + std::to_string(rank) + " is 1.8 x slower",
               issues::kStepsPerSecond, lasted_s);
  }
  v1::Issue& AddThrottled(uint32_t rank, int lasted_s) {
    return Add(v1::Issue::KIND_SLOW, rank, "its GPU is throttled", "throttled", lasted_s);
  }
  void Later(int lasted_s) { snapshot_.set_time_ms(snapshot_.time_ms() + lasted_s * 1000); }
  std::vector<std::string> Take() {
    std::vector<std::string> lines;
    for (const IssueWarning& warning : warnings_.Take(snapshot_)) lines.push_back(warning.what);
    return lines;
  }

  v1::JobSnapshot snapshot_;
  IssueWarnings warnings_;
};

TEST_F(IssueWarningsTest, OneLineReportsASlowRankAndItsCause) {
  AddThrottled(7, 32);
  AddSlow(7, 30);
  AddThrottled(6, 32);  // another rank's GPU
  const std::vector<IssueWarning> warnings = warnings_.Take(snapshot_);
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(warnings[0].address, "node4");
  EXPECT_THAT(
      warnings[0].what,
      MatchesRegex("rank 7 is 1.8 x slower since [0-9][0-9]:[0-9][0-9]; its GPU is throttled"));
}

TEST_F(IssueWarningsTest, AnIssueIsReportedOnce) {
  v1::Issue& slow = AddSlow(7, 30);
  EXPECT_THAT(Take(), SizeIs(1));
  Later(100);
  EXPECT_THAT(Take(), IsEmpty());
  slow.set_what("rank 7 is 2.4 x slower");
  slow.set_since_ms(slow.since_ms() + 60'000);  // it was not slow in between
  EXPECT_THAT(Take(), IsEmpty());
  AddSlow(6, 30);
  EXPECT_THAT(Take(), SizeIs(1)) << "another rank";
  warnings_.Begin();
  EXPECT_THAT(Take(), SizeIs(2)) << "another attempt";
}

TEST_F(IssueWarningsTest, ACauseThatWasReportedWithARankIsNotRepeated) {
  AddSlow(7, 30);
  AddThrottled(7, 40);
  EXPECT_THAT(Take(), SizeIs(1));
  Later(60);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(IssueWarningsTest, AnIssueThatSlowsAllRanksIsReportedByItself) {
  AddThrottled(7, 59);
  EXPECT_THAT(Take(), IsEmpty());
  Later(1);
  EXPECT_THAT(Take(), ElementsAre(MatchesRegex("its GPU is throttled since .*")));
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(IssueWarningsTest, ABriefIssueIsNotReported) {
  AddSlow(7, 29);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(IssueWarningsTest, IssuesReportedElsewhereAreNotRepeated) {
  Add(v1::Issue::KIND_FAILED, 1, "rank 1 exited", "last line", 100);
  Add(v1::Issue::KIND_DISCONNECTED, 2, "node2 does not answer", "cause", 100);
  Add(v1::Issue::KIND_STALLED, 3, "all wait", "cause", 100);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(IssueWarningsTest, AnEndingJobIsNotSlow) {
  AddSlow(7, 30);
  snapshot_.mutable_job()->set_phase(v1::JOB_PHASE_STOPPING);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(IssueWarningsTest, TheNumberOfLinesIsLimited) {
  for (uint32_t rank = 0; rank < 100; ++rank) AddSlow(rank, 30);
  const std::vector<std::string> lines = Take();
  ASSERT_THAT(lines, SizeIs(IssueWarnings::kMaxLines));
  EXPECT_THAT(lines.back(), testing::HasSubstr("no more such warnings are shown"));
  AddSlow(100, 30);
  EXPECT_THAT(Take(), IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
