#include "chief/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "agent_sim/events.h"
#include "base/proof_of_end.h"
#include "support/fake_nodes.h"
#include "support/plans.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class FleetTest : public testing::Test, protected FleetListener {
 protected:
  static constexpr seconds kLease{60};

  FleetTest() { testing::internal::CaptureStderr(); }
  ~FleetTest() override {
    launcher_->Stop();
    watch_.DisconnectAtExit();
    Messages();
  }

  // Connects to all nodes and starts their ranks.
  void Start() {
    launcher_->Start([this](launch::LaunchedNode node) {
      loop_.Post([this, node] { watch_.Add(node.node_rank, node.link); });
    });
    watch_.ConnectAgainBy(*launcher_);
    loop_.RunUntil([this] { return AllConnected() && watch_.AllResumed(); });
    watch_.BeginAttempt({0, 1, 2});
    watch_.StartRanks(watch_.ledger().MayStart(loop_.Now()).value());
    Run(milliseconds(100));
    began_ = loop_.Now();
  }
  // As for another attempt, with the ranks of the plan.
  void Prepare(const std::vector<uint32_t>& nodes) {
    const uint64_t generation = watch_.Prepare(nodes);
    for (const uint32_t node : nodes) {
      v1::PrepareRequest request;
      *request.mutable_node() = plan_.nodes(static_cast<int>(node));
      request.set_generation(generation);
      launcher_->Prepare(node, request, watch_.node(node).link(), [](auto) {});
    }
    Run(milliseconds(10));
  }
  void Run(milliseconds time) {
    loop_.RunUntil([] { return false; }, loop_.Now() + time);
  }
  milliseconds Passed() const {
    return std::chrono::duration_cast<milliseconds>(loop_.Now() - began_);
  }
  bool AllConnected() const {
    return watch_.All([this](uint32_t node) { return watch_.Connected(node); });
  }
  // Messages to the user; must be called last.
  std::string Messages() {
    if (std::exchange(reported_, true)) return "";
    console_.Finish();
    return testing::internal::GetCapturedStderr();
  }

  void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) override {
    if (event.has_rank_exited()) exits_.emplace_back(member, event.rank_exited().rank());
  }
  void OnWarning(uint32_t, const std::string&) override {}
  void OnEvicted(uint32_t, std::optional<uint32_t>, const Status&) override {}
  void OnLost(uint32_t node, std::optional<uint32_t> member, const Status& why, bool) override {
    lost_.push_back(node);
    lost_member_ = member;
    lost_after_ = Passed();
    lost_because_ = why;
  }
  void OnPhase(uint32_t, v1::NodePhase, const std::string&) override {}
  void OnSample(uint32_t node, v1::NodeSample&& sample) override {
    samples_.emplace_back(node, sample.time_ns());
  }

  const v1::LaunchPlan plan_ = test::ThreeNodePlan();
  test::TurnedLoop loop_;
  test::FakeNodes nodes_{loop_, plan_};
  const std::unique_ptr<launch::Launcher> launcher_ = nodes_.MakeLauncher();
  Console console_{[](uint32_t, const v1::OutputAck&) {}};
  OutputRouter output_{loop_, console_};
  Fleet watch_{plan_, {kLease}, loop_, output_, console_, *this};
  Loop::Time began_{};
  std::vector<uint32_t> lost_;
  std::optional<uint32_t> lost_member_;
  milliseconds lost_after_{};
  Status lost_because_;
  std::vector<std::pair<uint32_t, uint32_t>> exits_;   // member, rank
  std::vector<std::pair<uint32_t, int64_t>> samples_;  // node, time
  bool reported_ = false;
};

// Otherwise a message that is long on its way to a node could renew its lease.
TEST_F(FleetTest, TheLeaseOfRanksBeginsWithAnAnswerOfTheirAgent) {
  Start();
  for (uint32_t node = 0; node < 3; ++node) {
    const auto& received = nodes_[node].received;
    const auto start = std::ranges::find_if(received, &v1::ChiefMessage::has_start);
    ASSERT_NE(start, received.end());
    EXPECT_GT(start->start().received(), 0u);
  }
}

TEST_F(FleetTest, ANodeThatAnswersStaysForever) {
  Start();
  Run(std::chrono::hours(24));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_TRUE(AllConnected());
}

TEST_F(FleetTest, TheLoopIsIdleBetweenRenewals) {
  Start();
  int times = 0;
  loop_.AddTimer([&] {
    ++times;
    return Loop::Time::max();
  });
  constexpr int kRenewals = 900;
  Run(kRenewals * seconds(4));
  EXPECT_LT(times, 10 * kRenewals) << "of three nodes";
}

TEST_F(FleetTest, ANodeIsLostWhenItsLeaseExpires) {
  Start();
  nodes_[1].CutLink();
  Run(kLease - seconds(5));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_TRUE(watch_.state(1).disconnected());
  Run(seconds(10));
  EXPECT_THAT(lost_, ElementsAre(1));
  EXPECT_EQ(lost_member_, 1u);
  EXPECT_GT(lost_after_, kLease - seconds(5));  // the last answer was to a renewal
  EXPECT_LE(lost_after_, kLease);
  EXPECT_THAT(Message(lost_because_), HasSubstr("no answer for "));
  const std::string messages = Messages();
  EXPECT_THAT(messages, HasSubstr("10.0.0.2: the connection is broken: connection reset by peer"));
  EXPECT_THAT(messages, HasSubstr("; processes of the job may still run there\n"));
}

TEST_F(FleetTest, TheLastFailureToReconnectIsTheReasonOfALoss) {
  Start();
  nodes_[1].reconnecting_fails = Error(StatusCode::kUnavailable, "its agent does not start");
  nodes_[1].CutLink();
  Run(kLease + seconds(5));
  EXPECT_THAT(lost_, ElementsAre(1));
  EXPECT_THAT(Message(lost_because_),
              ContainsRegex("^no answer for .*: its agent does not start$"));
}

TEST_F(FleetTest, BeforeRanksStartNoneIsSaidToRun) {
  launcher_->Start([this](launch::LaunchedNode node) {
    loop_.Post([this, node] { watch_.Add(node.node_rank, node.link); });
  });
  watch_.ConnectAgainBy(*launcher_);
  loop_.RunUntil([this] { return AllConnected() && watch_.AllResumed(); });
  nodes_[1].CutLink();
  Run(seconds(1));
  const std::string messages = Messages();
  EXPECT_THAT(messages, HasSubstr("10.0.0.2: the connection is broken"));
  EXPECT_THAT(messages, Not(HasSubstr("ranks")));
}

TEST_F(FleetTest, ASilentAgentIsReconnected) {
  Start();
  nodes_[2].silent = true;
  Run(seconds(9));
  EXPECT_TRUE(watch_.Connected(2));
  Run(seconds(6));
  EXPECT_GT(nodes_[2].resumes, 0);
  nodes_[2].silent = false;
  Run(seconds(30));
  EXPECT_TRUE(watch_.Connected(2));
  EXPECT_THAT(lost_, IsEmpty());
  const std::string messages = Messages();
  EXPECT_THAT(messages, ContainsRegex("node3: its agent has not answered for [0-9.]+ s; "));
  // Since its last answer, and not since it counts as disconnected.
  EXPECT_THAT(messages, ContainsRegex("node3: connected again after [1-9][0-9] s"));
}

TEST_F(FleetTest, AStoppedAgentIsLostWhenItsLeaseExpiresAlthoughItsNodeAcceptsConnections) {
  Start();
  nodes_[2].silent = true;
  Run(kLease - seconds(5));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_TRUE(watch_.state(2).disconnected());
  Run(seconds(6));
  EXPECT_THAT(lost_, ElementsAre(2));
  EXPECT_LE(lost_after_, kLease);
  EXPECT_THAT(Message(lost_because_), HasSubstr("although the node is reachable"));
  EXPECT_LT(nodes_[2].resumes, 6);
  EXPECT_THAT(Messages(), Not(HasSubstr("connected again")));
}

TEST_F(FleetTest, ANodeWhoseSessionsFailAtOnceIsRetriedLessAndLessOften) {
  Start();
  nodes_[1].fails_at_once = true;
  nodes_[1].Break();
  Run(kLease - seconds(5));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_GT(nodes_[1].resumes, 20);
  EXPECT_LT(nodes_[1].resumes, 100);
  Run(seconds(10));
  EXPECT_THAT(lost_, ElementsAre(1));
}

TEST_F(FleetTest, SessionsThatFailAfterAnAnswerAreRetriedLessOftenToo) {
  Start();
  nodes_[1].fails_when_resumed = true;
  nodes_[1].Break();
  Run(seconds(60));
  EXPECT_LT(nodes_[1].resumes, 100);
  nodes_[1].fails_when_resumed = false;
  Run(seconds(5));
  EXPECT_TRUE(watch_.Connected(1));
  // The connection was stable for a while: the next one is made at once.
  Run(seconds(15));
  const int before = nodes_[1].resumes;
  nodes_[1].Break();
  Run(milliseconds(50));
  EXPECT_EQ(nodes_[1].resumes, before + 1);
  EXPECT_TRUE(watch_.Connected(1));
}

TEST_F(FleetTest, ANodeThatAcknowledgesNothingOnAllConnectionsIsLost) {
  Start();
  nodes_[1].fails_when_resumed = true;
  nodes_[1].Break();
  Run(3 * kLease);
  EXPECT_THAT(lost_, IsEmpty());  // no orders were sent
  nodes_[1].deaf = true;
  v1::ChiefMessage signal;
  signal.mutable_signal()->set_signal(SIGUSR1);
  watch_.SendToAll(signal);
  Run(2 * kLease - seconds(5));
  EXPECT_THAT(lost_, IsEmpty());
  Run(seconds(10));
  EXPECT_THAT(lost_, ElementsAre(1));
  EXPECT_THAT(Message(lost_because_), HasSubstr("before it acknowledges any command"));
}

TEST_F(FleetTest, OrdersDuringADisconnectionArriveOnceAfterIt) {
  Start();
  nodes_[1].CutLink();
  Run(seconds(5));
  v1::ChiefMessage signal;
  signal.mutable_signal()->set_signal(SIGUSR1);
  watch_.SendToAll(signal);
  Run(seconds(5));
  nodes_[1].unreachable = false;
  Run(seconds(5));
  EXPECT_TRUE(watch_.Connected(1));
  EXPECT_EQ(std::ranges::count_if(nodes_[1].received, &v1::ChiefMessage::has_signal), 1);
  nodes_[1].Exit(2, 3);
  Run(seconds(1));
  EXPECT_THAT(exits_, ElementsAre(std::pair(1, 2)));
}

TEST_F(FleetTest, AnAgentThatExitedIsLostAtOnce) {
  Start();
  nodes_[0].Die();
  Run(seconds(1));
  EXPECT_THAT(lost_, ElementsAre(0));
  EXPECT_TRUE(ProofOfEnd::In(lost_because_));
}

TEST_F(FleetTest, MembersAreNumberedByTheirPositionInTheAttempt) {
  Start();
  watch_.End(seconds(0), false);
  Run(milliseconds(10));
  exits_.clear();
  Prepare({0, 2});
  watch_.BeginAttempt({0, 2});
  watch_.StartRanks(watch_.ledger().MayStart(loop_.Now()).value());
  Run(milliseconds(10));
  nodes_[2].Exit(4, 3);
  nodes_[1].SendReliably(test::RankExited(2, 3));  // its node is no longer a member
  Run(milliseconds(10));
  EXPECT_THAT(exits_, ElementsAre(std::pair(1, 4)));
}

TEST_F(FleetTest, SamplesAreTakenFromMembers) {
  Start();
  watch_.Prepare({0, 2});
  watch_.BeginAttempt({0, 2});
  Run(milliseconds(10));
  v1::AgentEvent event;
  event.mutable_sample()->set_time_ns(1'000'000'000);
  for (uint32_t node = 0; node < 3; ++node) nodes_[node].SendReliably(event);
  Run(milliseconds(10));
  ASSERT_EQ(samples_.size(), 2u);
  EXPECT_EQ(samples_[0].first, 0u);
  EXPECT_EQ(samples_[1].first, 2u);
}

TEST_F(FleetTest, TimeInWhichTheChiefWasStoppedDoesNotCount) {
  Start();
  Run(seconds(3));
  nodes_[1].silent = true;
  Run(seconds(2));
  loop_.Sleep(std::chrono::minutes(10));
  nodes_[1].silent = false;
  Run(seconds(8));
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_EQ(nodes_[1].resumes, 0);
}

TEST_F(FleetTest, RanksOfANodeThatDisconnectsJustBeforeTheyStartEndWithItsLease) {
  Start();
  watch_.End(milliseconds(0), false);
  Run(milliseconds(100));
  Prepare({0, 1, 2});
  const auto clearance = watch_.ledger().MayStart(loop_.Now());
  nodes_[1].CutLink();
  Run(milliseconds(10));
  watch_.BeginAttempt({0, 1, 2});
  watch_.StartRanks(clearance.value());
  EXPECT_LE(watch_.ledger().ClearAt(1), loop_.Now() + kLease + seconds(1));
}

TEST_F(FleetTest, AgentsWithAllEventsAcknowledgedMayExitSilently) {
  Start();
  for (const uint32_t node : {0u, 1u, 2u}) nodes_[node].ExitAll(0);
  watch_.End(seconds(30), true);
  loop_.RunUntil([this] { return watch_.state(1).drained(); });
  nodes_[1].Die();  // its last bytes are lost
  Run(seconds(1));
  EXPECT_EQ(watch_.state(1).phase(), v1::NODE_PHASE_ENDED);
  EXPECT_THAT(lost_, IsEmpty());
  EXPECT_EQ(Messages(), "");
}

TEST_F(FleetTest, ALostNodeCanRejoin) {
  Start();
  nodes_[1].Die();
  Run(seconds(1));
  ASSERT_THAT(lost_, ElementsAre(1));
  watch_.TryRejoin(1, loop_.Now() + seconds(10));
  Run(seconds(1));
  EXPECT_TRUE(watch_.Connected(1));
  EXPECT_FALSE(watch_.lost_because(1).ok());
  watch_.PassOver(1);
  EXPECT_TRUE(watch_.lost_because(1).ok()) << "it would be said to be back again";
}

// Ctrl-Z while the node is cut off; it is lost soon after the chief continues.
class SuspendedFleetTest : public FleetTest {
 protected:
  void LoseWhileSuspended() {
    nodes_[1].lease = kLease;
    Start();
    Run(seconds(10));
    watch_.Suspend();
    Run(milliseconds(10));
    nodes_[1].CutLink();
    loop_.Stand(std::chrono::hours(1));
    watch_.Continue();
    Run(kLease + seconds(1));
    ASSERT_THAT(lost_, ElementsAre(1));
    ASSERT_GT(watch_.ledger().ClearAt(), loop_.Now() + std::chrono::hours(20));
    nodes_[1].unreachable = false;
  }
  void Rejoin() {
    watch_.TryRejoin(1, loop_.Now() + seconds(10));
    Run(seconds(1));
  }
};

TEST_F(SuspendedFleetTest, ALostNodeIsReachedAlthoughItsLeaseIsHeld) {
  LoseWhileSuspended();
  Rejoin();
  EXPECT_TRUE(watch_.state(1).drained());
  EXPECT_LE(watch_.ledger().ClearAt(1), loop_.Now());
  Run(seconds(10));
  nodes_[1].CutLink();  // it holds its lease no longer
  Run(kLease + seconds(2));
  EXPECT_TRUE(nodes_[1].gone());
}

TEST_F(SuspendedFleetTest, AnAgentThatHasEndedMeanwhileProvesIt) {
  LoseWhileSuspended();
  nodes_[1].Die();
  Rejoin();
  EXPECT_LE(watch_.ledger().ClearAt(1), loop_.Now());
  EXPECT_FALSE(watch_.Connected(1));
  Rejoin();
  EXPECT_TRUE(watch_.Connected(1));  // another agent
}

TEST_F(SuspendedFleetTest, TheLeaseIsHeldUntilTheAgentHasTheOrderToContinue) {
  nodes_[1].lease = kLease;
  Start();
  watch_.Suspend();
  Run(seconds(1));
  nodes_[1].deaf = true;
  watch_.Continue();
  Run(seconds(20));  // renewals are answered
  nodes_[1].CutLink();
  Run(seconds(1));
  EXPECT_GT(watch_.ledger().ClearAt(1), loop_.Now() + std::chrono::hours(20));
}

}  // namespace
}  // namespace autodist::chief
