// Values for all views, which are derived from a snapshot once.
#include "snapshot/derived.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snapshot/state_names.h"

namespace autodist::snapshot {
namespace {

using testing::ElementsAre;

struct StateCase {
  v1::JobPhase phase;
  int32_t exit_code = 0;
  bool asked = false;  // to stop
  bool chief_gone = false;
  std::vector<v1::Issue::Kind> issues = {};
  std::string words;
  v1::Mark mark;
};

TEST(DerivedTest, StatesOfJobs) {
  using Issue = v1::Issue;
  const std::vector<StateCase> cases = {
      {.phase = v1::JOB_PHASE_LAUNCHING, .words = "launching", .mark = v1::MARK_STARTING},
      {.phase = v1::JOB_PHASE_RUNNING, .words = "running", .mark = v1::MARK_NONE},
      {.phase = v1::JOB_PHASE_STOPPING, .words = "stopping", .mark = v1::MARK_WARNING},
      {.phase = v1::JOB_PHASE_RESTARTING, .words = "restarting", .mark = v1::MARK_DISCONNECTED},
      {.phase = v1::JOB_PHASE_ENDED, .words = "ended well", .mark = v1::MARK_ENDED},
      {.phase = v1::JOB_PHASE_ENDED,
       .exit_code = 1,
       .words = "failed, exit code 1",
       .mark = v1::MARK_FAILED},
      {.phase = v1::JOB_PHASE_ENDED,
       .exit_code = 1,
       .asked = true,
       .words = "stopped, exit code 1",
       .mark = v1::MARK_ENDED},
      {.phase = v1::JOB_PHASE_ENDED,
       .exit_code = 130,
       .words = "stopped, exit code 130",
       .mark = v1::MARK_ENDED},
      {.phase = v1::JOB_PHASE_RUNNING,
       .chief_gone = true,
       .issues = {Issue::KIND_SLOW},
       .words = "crashed: its autodist is gone",
       .mark = v1::MARK_FAILED},
      {.phase = v1::JOB_PHASE_RUNNING,
       .issues = {Issue::KIND_FAILED, Issue::KIND_SLOW},
       .words = "running, a rank failed",
       .mark = v1::MARK_FAILED},
      {.phase = v1::JOB_PHASE_RUNNING,
       .issues = {Issue::KIND_STALLED},
       .words = "stalled",
       .mark = v1::MARK_STALLED},
      {.phase = v1::JOB_PHASE_RUNNING,
       .issues = {Issue::KIND_SLOW},
       .words = "running, slow",
       .mark = v1::MARK_SLOW},
      {.phase = v1::JOB_PHASE_RUNNING,
       .issues = {Issue::KIND_DISCONNECTED},
       .words = "running, a node is disconnected",
       .mark = v1::MARK_DISCONNECTED},
      {.phase = v1::JOB_PHASE_RUNNING,
       .issues = {Issue::KIND_WARNING},
       .words = "running",
       .mark = v1::MARK_WARNING},
      {.phase = v1::JOB_PHASE_STOPPING,
       .issues = {Issue::KIND_FAILED},
       .words = "stopping",
       .mark = v1::MARK_WARNING},
  };
  for (const StateCase& one : cases) {
    v1::JobSnapshot snapshot;
    snapshot.mutable_job()->set_phase(one.phase);
    snapshot.mutable_job()->set_exit_code(one.exit_code);
    snapshot.mutable_job()->set_stop_requested(one.asked);
    snapshot.mutable_job()->set_chief_gone(one.chief_gone);
    for (const Issue::Kind kind : one.issues) snapshot.add_issues()->set_kind(kind);
    Derive(snapshot);
    EXPECT_EQ(snapshot.state(), one.words);
    EXPECT_EQ(snapshot.mark(), one.mark) << one.words;
  }
}

TEST(StateOfTest, AJobThatDoesNotAnswerIsNotShownAsRunning) {
  v1::JobStatus job;
  job.set_phase(v1::JOB_PHASE_RUNNING);
  job.set_chief_silent(true);
  EXPECT_EQ(StateOf(job).words, "its autodist does not answer");
  EXPECT_EQ(StateOf(job).mark, v1::MARK_DISCONNECTED);
}

TEST(StateOfTest, AJobOfAnotherMachineIsNeitherRunningNorCrashedHere) {
  v1::JobStatus job;
  job.set_host("gpu1");
  job.set_elsewhere(true);
  EXPECT_EQ(StateOf(job).words, "on gpu1");
  job.set_phase(v1::JOB_PHASE_ENDED);
  EXPECT_EQ(StateOf(job).words, "ended") << "its exit code is unknown";
  job.set_exit_code(0);
  EXPECT_EQ(StateOf(job).words, "ended well");
}

// Ranks 0 and 1 on a.x, 2 and 3 on b.x.
v1::JobSnapshot TwoNodes() {
  v1::JobSnapshot snapshot;
  snapshot.mutable_job()->set_phase(v1::JOB_PHASE_RUNNING);
  for (uint32_t i = 0; i < 4; ++i) {
    if (i % 2 == 0) {
      v1::NodeSnapshot& node = *snapshot.add_nodes();
      node.set_address(i == 0 ? "a.x" : "b.x");
      node.set_phase(v1::NODE_PHASE_RUNNING);
    }
    v1::RankSnapshot& rank = *snapshot.add_ranks();
    rank.set_rank(i);
    rank.set_node(i / 2);
    rank.set_local_rank(i % 2);
    rank.set_state(v1::RANK_STATE_RUNNING);
    snapshot.mutable_nodes(static_cast<int>(i / 2))->add_ranks(i);
  }
  return snapshot;
}

std::vector<v1::Mark> MarksOf(const v1::JobSnapshot& snapshot) {
  std::vector<v1::Mark> marks;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) marks.push_back(rank.mark());
  return marks;
}

TEST(DerivedTest, ARankHasTheWorstOfItsStateItsIssuesAndItsNode) {
  v1::JobSnapshot snapshot = TwoNodes();
  snapshot.mutable_ranks(0)->set_state(v1::RANK_STATE_ENDED);
  snapshot.mutable_ranks(0)->set_ended("exited with code 0");
  snapshot.mutable_nodes(1)->set_phase(v1::NODE_PHASE_RECONNECTING);
  v1::Issue& slow = *snapshot.add_issues();
  slow.set_kind(v1::Issue::KIND_SLOW);
  slow.set_what("rank 3 is slow");
  slow.add_ranks(0);
  slow.add_ranks(3);
  Derive(snapshot);
  EXPECT_THAT(MarksOf(snapshot),
              ElementsAre(v1::MARK_ENDED, v1::MARK_NONE, v1::MARK_DISCONNECTED, v1::MARK_SLOW));
  EXPECT_EQ(snapshot.nodes(0).worst(), v1::MARK_NONE);  // an ended rank has no issue
  EXPECT_EQ(snapshot.nodes(1).mark(), v1::MARK_DISCONNECTED);
  EXPECT_EQ(snapshot.nodes(1).worst(), v1::MARK_SLOW);
  EXPECT_THAT(snapshot.worst_first(), ElementsAre(3, 2, 0, 1));
  EXPECT_EQ(snapshot.ranks(0).cause(), "exited with code 0");
  EXPECT_EQ(snapshot.ranks(3).cause(), "rank 3 is slow");
  EXPECT_EQ(snapshot.ranks(3).where(), "b:1");
}

TEST(DerivedTest, OthersWaitForAStalledRank) {
  v1::JobSnapshot snapshot = TwoNodes();
  v1::Issue& stalled = *snapshot.add_issues();
  stalled.set_kind(v1::Issue::KIND_STALLED);
  stalled.add_ranks(2);
  stalled.add_nodes(1);
  for (int i = 0; i < 4; ++i) snapshot.mutable_ranks(i)->set_last_output_ms(1000 - i);
  Derive(snapshot);
  EXPECT_THAT(MarksOf(snapshot),
              ElementsAre(v1::MARK_WAITING, v1::MARK_WAITING, v1::MARK_STALLED, v1::MARK_WAITING));
  EXPECT_EQ(snapshot.ranks(0).state_text(), "waits");
  EXPECT_EQ(snapshot.nodes(1).mark(), v1::MARK_NONE);  // it only hosts the rank
  // Then the ones with the longest silence.
  EXPECT_THAT(snapshot.worst_first(), ElementsAre(2, 3, 1, 0));
}

TEST(DerivedTest, StepsAreComparedWithTheMedian) {
  v1::JobSnapshot snapshot = TwoNodes();
  Derive(snapshot);
  EXPECT_FALSE(snapshot.has_median_step());
  snapshot.mutable_ranks(0)->mutable_progress()->set_rate(2);
  Derive(snapshot);
  EXPECT_EQ(snapshot.median_step(), 0.5);
  EXPECT_FALSE(snapshot.ranks(0).has_relative());  // there is no other rank to compare with
  snapshot.mutable_ranks(1)->mutable_progress()->set_rate(2);
  snapshot.mutable_ranks(3)->mutable_progress()->set_rate(1);
  Derive(snapshot);
  EXPECT_EQ(snapshot.median_step(), 0.5);
  EXPECT_EQ(snapshot.ranks(3).step_time(), 1);
  EXPECT_EQ(snapshot.ranks(3).relative(), 2);
  EXPECT_THAT(snapshot.worst_first(), ElementsAre(3, 0, 1, 2));
  EXPECT_EQ(snapshot.ranks(0).state_text(), "training");
  EXPECT_EQ(snapshot.ranks(2).state_text(), "running");
}

TEST(DerivedTest, UniqueNodeNamesAreShortened) {
  v1::JobSnapshot snapshot;
  for (const char* address : {"a.x", "b.x", "b.y", "10.0.0.1", "fd00::1"}) {
    snapshot.add_nodes()->set_address(address);
  }
  Derive(snapshot);
  std::vector<std::string> names;
  for (const v1::NodeSnapshot& node : snapshot.nodes()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("a", "b.x", "b.y", "10.0.0.1", "fd00::1"));
}

TEST(DerivedTest, AThrottledGpuIsTheCauseOfASlowRank) {
  v1::JobSnapshot snapshot = TwoNodes();
  snapshot.mutable_ranks(1)->add_gpus(5);
  v1::GpuSample& gpu = *snapshot.mutable_nodes(0)->mutable_sample()->add_gpus();
  gpu.set_index(5);
  gpu.add_throttled("HW power brake");
  Derive(snapshot);
  EXPECT_EQ(snapshot.ranks(1).cause(),
            "");  // a healthy GPU at its power limit is throttled
  v1::Issue& slow = *snapshot.add_issues();
  slow.set_kind(v1::Issue::KIND_SLOW);
  slow.add_ranks(1);
  Derive(snapshot);
  EXPECT_EQ(snapshot.ranks(1).cause(), "throttled: HW power brake");
  EXPECT_EQ(snapshot.ranks(1).where(), "a:5");
}

TEST(DerivedTest, DanglingReferencesAreIgnored) {
  v1::JobSnapshot snapshot = TwoNodes();
  snapshot.mutable_ranks(0)->set_node(77);
  v1::Issue& issue = *snapshot.add_issues();
  issue.add_ranks(99);
  snapshot.add_issues()->add_nodes(99);
  Derive(snapshot);
  EXPECT_EQ(snapshot.ranks(0).where(), "");
}

}  // namespace
}  // namespace autodist::snapshot
