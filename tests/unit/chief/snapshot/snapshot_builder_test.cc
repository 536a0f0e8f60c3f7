#include "chief/snapshot/snapshot_builder.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <signal.h>

#include <filesystem>

#include "snapshot/recovery_times.h"
#include "support/played_job.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::JobTest;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class SnapshotBuilderTest : public JobTest {
 protected:
  // Takes a snapshot then, and keeps it.
  void AskAt(milliseconds after, v1::JobSnapshot& into, const uint64_t* known = nullptr) {
    loop_.After(after, [this, &into, known] {
      v1::GetSnapshotRequest request;
      if (known) request.set_known(*known);
      job_->Requests().snapshots.snapshot(
          request,
          [&into](const std::shared_ptr<const v1::JobSnapshot>& snapshot) { into = *snapshot; });
    });
  }
  v1::JobSnapshot Kept() const {
    v1::JobSnapshot snapshot;
    EXPECT_TRUE(
        google::protobuf::util::JsonStringToMessage(folder_.Read("logs/snapshot.json"), &snapshot)
            .ok());
    return snapshot;
  }
  static std::vector<v1::RankState> States(const v1::JobSnapshot& snapshot) {
    std::vector<v1::RankState> states;
    for (const v1::RankSnapshot& rank : snapshot.ranks()) states.push_back(rank.state());
    return states;
  }
};

TEST_F(SnapshotBuilderTest, ShowsEachRankWithItsNodeAndLastOutput) {
  v1::JobSnapshot snapshot;
  loop_.After(seconds(1), [this] { nodes_[2].Write(4, "hello\nstep 2\n"); });
  AskAt(seconds(2), snapshot);
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(States(snapshot), Each(v1::RANK_STATE_RUNNING));
  ASSERT_EQ(snapshot.nodes_size(), 3);
  EXPECT_EQ(snapshot.nodes(2).phase(), v1::NODE_PHASE_RUNNING);
  EXPECT_THAT(snapshot.nodes(2).ranks(), ElementsAre(4));
  EXPECT_EQ(snapshot.ranks(4).node(), 2u);
  EXPECT_GT(snapshot.ranks(4).pid(), 0);
  EXPECT_EQ(snapshot.ranks(4).last_line(), "step 2");
  EXPECT_EQ(snapshot.issues_size(), 0);
  EXPECT_EQ(snapshot.events(0).job_phase(), v1::JOB_PHASE_LAUNCHING);
}

TEST_F(SnapshotBuilderTest, AClientWithTheCurrentVersionGetsOnlyChanges) {
  v1::JobSnapshot first;
  v1::JobSnapshot same;
  v1::JobSnapshot changed;
  uint64_t known = 0;
  AskAt(seconds(2), first);
  loop_.After(seconds(3), [&] { known = first.version(); });
  AskAt(seconds(4), same, &known);
  loop_.After(seconds(5), [this] { nodes_[2].Write(4, "hello\n"); });
  AskAt(seconds(6), changed, &known);
  AllExit(seconds(7), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_GT(known, 0u);
  EXPECT_EQ(same.version(), known);
  EXPECT_EQ(same.ranks_size(), 0);
  EXPECT_NE(changed.version(), known);
  EXPECT_EQ(changed.ranks(4).last_line(), "hello");
}

TEST_F(SnapshotBuilderTest, AllClientsGetTheSameSnapshotUntilItChanges) {
  std::vector<std::shared_ptr<const v1::JobSnapshot>> snapshots;
  const auto ask = [&] {
    job_->Requests().snapshots.snapshot({}, [&](std::shared_ptr<const v1::JobSnapshot> snapshot) {
      snapshots.push_back(snapshot);
    });
  };
  const auto sample = [&] {
    v1::AgentEvent event;
    event.mutable_sample()->mutable_host()->set_cpu(0.5);
    nodes_[0].Send(event);
  };
  loop_.After(seconds(3), ask);
  loop_.After(seconds(3), ask);
  loop_.After(milliseconds(3'100), sample);
  loop_.After(milliseconds(3'200), ask);
  loop_.After(milliseconds(3'200), ask);
  AllExit(seconds(5), 0);
  EXPECT_EQ(Run(), 0);
  ASSERT_EQ(snapshots.size(), 4u);
  EXPECT_EQ(snapshots[0], snapshots[1]);
  EXPECT_NE(snapshots[1], snapshots[2]);
  EXPECT_EQ(snapshots[2], snapshots[3]);
  EXPECT_EQ(snapshots[2]->nodes(0).sample().host().cpu(), 0.5);
}

TEST_F(SnapshotBuilderTest, TheFailedRankIsMarkedAndKept) {
  loop_.After(seconds(5), [this] { nodes_[1].Exit(3, 7); });
  EXPECT_EQ(Run(), 7);
  const v1::JobSnapshot snapshot = Kept();
  EXPECT_THAT(States(snapshot),
              ElementsAre(v1::RANK_STATE_ENDED, v1::RANK_STATE_ENDED, v1::RANK_STATE_ENDED,
                          v1::RANK_STATE_FAILED, v1::RANK_STATE_ENDED));
  EXPECT_EQ(snapshot.ranks(3).ended(), "exited with code 7");
  EXPECT_EQ(snapshot.job().phase(), v1::JOB_PHASE_ENDED);
  EXPECT_EQ(snapshot.job().exit_code(), 7);
  ASSERT_EQ(snapshot.issues_size(), 1);
  EXPECT_EQ(snapshot.issues(0).what(), "rank 3 on 10.0.0.2 (pid 5) exited with code 7");
}

TEST_F(SnapshotBuilderTest, RanksOfADisconnectedNodeAreAway) {
  v1::JobSnapshot snapshot;
  loop_.After(seconds(5), [this] { nodes_[1].CutLink(); });
  AskAt(seconds(15), snapshot);
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = false; });
  AllExit(seconds(40), 0);
  EXPECT_EQ(Run(), 0);
  EXPECT_THAT(States(snapshot), ElementsAre(v1::RANK_STATE_RUNNING, v1::RANK_STATE_RUNNING,
                                            v1::RANK_STATE_DISCONNECTED,
                                            v1::RANK_STATE_DISCONNECTED, v1::RANK_STATE_RUNNING));
  ASSERT_EQ(snapshot.issues_size(), 1);
  EXPECT_THAT(snapshot.issues(0).what(), HasSubstr("10.0.0.2 does not answer"));
  const v1::GoodputParts spent = Kept().goodput_parts();
  EXPECT_NEAR(static_cast<double>(spent.stalled()), 15'000, 2'100);
  EXPECT_NEAR(static_cast<double>(spent.training()), 25'000, 2'100);
}

TEST_F(SnapshotBuilderTest, TimeWithoutASignOfLifeIsNotTraining) {
  options_.launch.request.set_hang_timeout("10");
  options_.launch.request.set_on_hang(v1::ON_HANG_WARN);
  loop_.After(seconds(25), [this] { nodes_[0].Write(0, "on again\n"); });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  const v1::GoodputParts spent = Kept().goodput_parts();
  EXPECT_NEAR(static_cast<double>(spent.stalled()), 25'000, 1'100);
  EXPECT_NEAR(static_cast<double>(spent.training()), 5'000, 1'100);
}

TEST_F(SnapshotBuilderTest, NorIsTheTimeBeforeTheJobIsEnded) {
  options_.launch.request.set_hang_timeout("auto");
  loop_.After(seconds(300),
              [this] { nodes_[2].Write(4, " 50%|#####     | 50/100 [10:00<10:00, 10.00s/it]\n"); });
  EXPECT_EQ(Run(), 124);
  const v1::GoodputParts spent = Kept().goodput_parts();
  EXPECT_NEAR(static_cast<double>(spent.stalled()), 100'000, 5'000);
}

TEST_F(SnapshotBuilderTest, AStepShowsThatRanksRunBeforeAllNodesHaveReportedIt) {
  nodes_[2].deaf = true;
  loop_.After(seconds(2),
              [this] { nodes_[0].Write(0, "  7%|7         | 7/100 [00:07<10:00, 10.00s/it]\n"); });
  loop_.After(seconds(12), [this] {
    nodes_[2].deaf = false;
    nodes_[2].Break();
  });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  const v1::GoodputParts spent = Kept().goodput_parts();
  EXPECT_NEAR(static_cast<double>(spent.start_up()), 2'000, 1'100);
  EXPECT_NEAR(static_cast<double>(spent.training()), 28'000, 1'100);
}

TEST_F(SnapshotBuilderTest, ThePartsAddUpToTheTimeOfAllAttempts) {
  options_.launch.request.set_max_restarts(1);
  loop_.After(seconds(10), [this] {
    nodes_[1].Exit(3, 7);
    for (uint32_t node = 0; node < 3; ++node) nodes_[node].on_start = nullptr;
  });
  AllExit(seconds(30), 0);
  EXPECT_EQ(Run(), 0);
  const v1::JobSnapshot snapshot = Kept();
  EXPECT_EQ(snapshot.job().attempt(), 1u);
  EXPECT_NEAR(static_cast<double>(snapshot::Total(snapshot.goodput_parts())),
              static_cast<double>(took_.count()), 20);
  EXPECT_GT(snapshot.goodput_parts().restarting(), 0);
  EXPECT_GT(snapshot.goodput_parts().training(), 25'000);
  ASSERT_EQ(snapshot.recoveries_size(), 1);
  EXPECT_EQ(snapshot.recoveries(0).attempt(), 1u);
  EXPECT_TRUE(snapshot.recoveries(0).has_starting());
  EXPECT_FALSE(snapshot.recoveries(0).has_first_step());  // the ranks report no steps
  // A point every two seconds without gaps.
  v1::History history;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(folder_.Read("logs/history.json"), &history)
          .ok());
  int64_t width = 0;
  for (const v1::HistoryPoint& point : history.points()) width += point.width_ms();
  EXPECT_NEAR(static_cast<double>(width), 30'000, 2'500);
}

TEST_F(SnapshotBuilderTest, ARecoveryLastsFromTheLossOfANodeToTheFirstStep) {
  options_.launch.request.set_max_restarts(1);
  options_.launch.request.set_min_nodes(2);
  options_.launch.request.set_lease(20);
  loop_.After(seconds(10), [this] {
    nodes_[1].unreachable = true;
    nodes_[1].CutLink();
  });
  loop_.After(seconds(60),
              [this] { nodes_[2].Write(2, "  7%|7         | 7/100 [00:07<10:00, 10.00s/it]\n"); });
  AllExit(seconds(90), 0);
  EXPECT_EQ(Run(), 0);
  const v1::JobSnapshot snapshot = Kept();
  ASSERT_EQ(snapshot.recoveries_size(), 1);
  const v1::Recovery& recovery = snapshot.recoveries(0);
  EXPECT_NEAR(static_cast<double>(recovery.notice()), 20'000, 5'000);
  EXPECT_NEAR(static_cast<double>(snapshot::Total(recovery)), 50'000, 5'000);
}

// Uses a file with this time; scans use real time.
class LostStepsTest : public SnapshotBuilderTest {
 protected:
  LostStepsTest() {
    options_.launch.request.set_checkpoint_dir(folder_.path() + "/ckpt");
    std::filesystem::create_directory(options_.request().checkpoint_dir());
  }
  void SaveAt(milliseconds after) {
    loop_.After(after, [this, after] {
      folder_.Write("ckpt/" + std::to_string(after.count()) + ".pt", "weights");
    });
  }
};

TEST_F(LostStepsTest, StepsSinceTheLastCheckpointAreLost) {
  options_.launch.request.set_max_restarts(1);
  SaveAt(seconds(8));
  SaveAt(seconds(20));
  loop_.After(seconds(32), [this] {
    nodes_[1].Exit(3, 7);
    for (uint32_t node = 0; node < 3; ++node) nodes_[node].on_start = nullptr;
  });
  AllExit(seconds(60), 0);
  EXPECT_EQ(Run(), 0);
  const v1::GoodputParts spent = Kept().goodput_parts();
  // Seen within five seconds; its age is the same in simulated and real time.
  EXPECT_GE(spent.lost_steps(), 12'000 - 5'000 - 1'000);
  EXPECT_LE(spent.lost_steps(), 12'000 + 5'000);
  EXPECT_EQ(Kept().checkpoint(), "20000.pt");
  EXPECT_NEAR(static_cast<double>(snapshot::Total(spent)), static_cast<double>(took_.count()), 20);
}

TEST_F(LostStepsTest, AllStepsOfAFailedJobWithoutCheckpointsAreLost) {
  loop_.After(seconds(32), [this] { nodes_[1].Exit(3, 7); });
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(Kept().goodput_parts().training(), 0);
  EXPECT_GT(Kept().goodput_parts().lost_steps(), 30'000);
}

TEST_F(LostStepsTest, ACheckpointOfStoppedRanksCounts) {
  loop_.After(seconds(32), [this] {
    nodes_[1].Exit(3, 7);
    folder_.Write("ckpt/last.pt", "weights");
  });
  EXPECT_EQ(Run(), 7);
  // Of the 32 seconds, only the time to write the file on a busy machine.
  EXPECT_LE(Kept().goodput_parts().lost_steps(), 5'000);
}

TEST_F(LostStepsTest, AStoppedJobLosesNoSteps) {
  loop_.After(seconds(32), [this] { job_->Signal(SIGINT); });
  EXPECT_EQ(Run(), 130);
  EXPECT_EQ(Kept().goodput_parts().lost_steps(), 0);
}

TEST_F(LostStepsTest, AMissingFolderGivesNoResult) {
  options_.launch.request.set_checkpoint_dir(folder_.path() + "/ckpt/elsewhere");
  loop_.After(seconds(32), [this] { nodes_[1].Exit(3, 7); });
  EXPECT_EQ(Run(), 7);
  EXPECT_EQ(Kept().goodput_parts().lost_steps(), 0);
  EXPECT_GT(Kept().goodput_parts().training(), 30'000);
  EXPECT_THAT(messages_, HasSubstr("cannot be read on this machine"));
}

}  // namespace
}  // namespace autodist::chief
