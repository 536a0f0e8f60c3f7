// Attempts that are prepared on simulated nodes, in simulated time.
#include "chief/start/attempt_starter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "agent_sim/events.h"
#include "base/exit_codes.h"
#include "chief/policy/restart_policy.h"
#include "chief/start/attempt_outcome.h"
#include "chief/start/taken_ports.h"
#include "support/fake_nodes.h"
#include "support/in_seconds.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

constexpr seconds kLease{60};
constexpr uint16_t kFirstPort = 4711;

class AttemptStarterTest : public testing::Test, protected FleetListener {
 protected:
  explicit AttemptStarterTest(plan::Input first = test::ThreeNodeInput())
      : input_(std::move(first)) {
    testing::internal::CaptureStderr();
    options_.launch.request.set_lease(test::InSeconds(kLease));
    options_.launch.request.set_grace(test::InSeconds(seconds(30)));
    options_.log_folder = folder_.path() + "/logs";
    options_.launch.request.set_no_preflight(true);
    options_.plan_attempt = [this](const plan::Replan& replan) {
      planned_.push_back(replan);
      plan::Input input = input_;
      input.members = replan.members;
      input.restart_count = replan.attempt;
      input.master_port = static_cast<uint16_t>(kFirstPort + planned_.size());
      for (const auto& [node, address] : replan.reported_addresses) {
        input.address_of[node].data = address;
      }
      return plan::MakePlan(input);
    };
    options_.make_launcher = [this](const v1::LaunchPlan&, const launch::LaunchOptions&) {
      return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
    };
  }
  ~AttemptStarterTest() override {
    attempt_.reset();
    starter().Stop();
    watch_.DisconnectAtExit();
    Messages();
  }

  // Created at the first call, with the options that the test has set.
  AttemptStarter& starter() {
    if (!starter_) starter_.emplace(StartingJob{plan_, options_, loop_, stop_, watch_, console_});
    return *starter_;
  }
  bool MayHaveLostPortRace() const { return PortRaces(options_, loop_).MayHaveLost(*attempt_); }
  bool IsRestarted() const {
    return RestartPolicy(RestartLimitsOf(options_.request(), watch_.size()))
        .Next(OutcomeOf(*attempt_, watch_, starter_->roster(), loop_.Now()))
        .wait.has_value();
  }
  // Sets attempt_ or refused_.
  void Start(uint32_t number) {
    const Loop::Time before = loop_.Now();
    starter().Begin(number);
    loop_.RunUntil([this] { return starter().Advance(); });
    took_ = std::chrono::duration_cast<milliseconds>(loop_.Now() - before);
    attempt_.reset();
    if (const NotStarted* refused = starter().refused()) {
      refused_ = *refused;
    } else {
      attempt_ = starter().TakeAttempt();
    }
  }
  void ExpectRefused(int exit_code, const std::string& why) {
    EXPECT_FALSE(attempt_);
    EXPECT_EQ(refused_.exit_code, exit_code);
    EXPECT_THAT(refused_.report, HasSubstr(why));
  }
  // Runs the first attempt until the given event, and ends it.
  void RunFirst(const std::function<void()>& happens, milliseconds then = seconds(1)) {
    Start(0);
    ASSERT_TRUE(attempt_) << refused_.report;
    stop_.AttemptBegins();
    watch_.BeginAttempt(attempt_->nodes());
    watch_.StartRanks(watch_.ledger().MayStart(loop_.Now()).value());
    attempt_->began = loop_.Now();
    Wait(seconds(5));
    happens();
    Wait(then);
    watch_.End(seconds(30), false);
    Wait(seconds(1));
  }
  void Wait(milliseconds time) {
    loop_.RunUntil([] { return false; }, loop_.Now() + time);
  }
  // Simulates Ctrl-C.
  void InterruptAfter(milliseconds time) {
    loop_.After(time, [this] {
      stop_.Interrupted(SIGINT, loop_.Now());
      starter().Cancel();
    });
  }
  // Messages to the user; ends the console.
  std::string Messages() {
    if (std::exchange(finished_, true)) return "";
    console_.Finish();
    return testing::internal::GetCapturedStderr();
  }
  static v1::OtherJob HasGpu(uint32_t gpu) {
    v1::OtherJob other;
    other.set_job_id("job-0");
    other.add_gpus(gpu);
    return other;
  }
  static v1::PrepareIssue MakeIssue(v1::PrepareIssueKind kind, const std::string& cause) {
    v1::PrepareIssue issue;
    issue.set_kind(kind);
    issue.set_cause(cause);
    return issue;
  }

  void OnMemberEvent(uint32_t member, const v1::AgentEvent& event) override {
    if (attempt_) attempt_->Take(member, event);
  }
  void OnWarning(uint32_t, const std::string&) override {}
  void OnEvicted(uint32_t, std::optional<uint32_t>, const Status&) override {}
  void OnLost(uint32_t, std::optional<uint32_t> member, const Status& why, bool) override {
    if (attempt_ && member) attempt_->NodeLost(*member, why);
  }
  void OnPhase(uint32_t, v1::NodePhase, const std::string&) override {}

  const test::TempFolder folder_;
  const plan::Input input_;
  const v1::LaunchPlan plan_ = *plan::MakePlan(input_);
  test::TurnedLoop loop_;
  test::FakeNodes nodes_{loop_, plan_};
  JobOptions options_;
  StopPolicy stop_{seconds(30), kLease, true};
  Console console_{
      [this](uint32_t node, const v1::OutputAck& ack) { watch_.node(node).Acknowledge(ack); }};
  OutputRouter output_{loop_, console_};
  Fleet watch_{plan_, {kLease}, loop_, output_, console_, *this};
  std::optional<AttemptStarter> starter_;
  std::vector<plan::Replan> planned_;
  std::unique_ptr<Attempt> attempt_;
  NotStarted refused_{};
  milliseconds took_{};
  bool finished_ = false;
};

// The first launch.

TEST_F(AttemptStarterTest, AnAttemptIsReadyWhenAllNodesAre) {
  int running = 0;
  options_.on_running = [&] { ++running; };
  nodes_[1].warnings = {"the disk is nearly full"};
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 1, 2));
  EXPECT_TRUE(attempt_->logs);
  for (uint32_t node = 0; node < 3; ++node) EXPECT_TRUE(watch_.Stays(node));
  EXPECT_EQ(running, 1);
  EXPECT_THAT(planned_, IsEmpty());
  for (uint32_t node = 0; node < 3; ++node) EXPECT_THAT(nodes_[node].running(), IsEmpty());
  EXPECT_THAT(Messages(), HasSubstr("10.0.0.2: the disk is nearly full"));
}

TEST_F(AttemptStarterTest, TheFirstLaunchAsksForCheckpoints) {
  options_.launch.request.set_checkpoint_dir("ckpt");
  std::optional<v1::CheckpointRequest> asked;
  options_.make_launcher = [&](const v1::LaunchPlan&, const launch::LaunchOptions& options) {
    asked = options.checkpoints;
    return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
  };
  Start(0);
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->folder(), "ckpt");
}

TEST_F(AttemptStarterTest, EveryNodeThatIsNotReadyIsNamed) {
  nodes_[1].issues = {MakeIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "no ./train there")};
  nodes_[2].launch_fails = Error(StatusCode::kUnavailable, "connection refused");
  Start(0);
  ExpectRefused(kExitCannotLaunch, "2 of 3 nodes cannot run the job");
  EXPECT_THAT(refused_.report, HasSubstr("10.0.0.2:\n    no ./train there"));
  EXPECT_THAT(refused_.report, HasSubstr("node3:\n    connection refused"));
}

TEST_F(AttemptStarterTest, ACommandMissingOnAllNodesHasTheShellsExitCode) {
  for (uint32_t node = 0; node < 3; ++node) {
    nodes_[node].issues = {MakeIssue(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "no ./train there")};
  }
  Start(0);
  ExpectRefused(kExitNotFound, "3 of 3 nodes");
}

TEST_F(AttemptStarterTest, ANodeLostBeforeAllAreReadyIsNamed) {
  // it is connected, but has not answered
  loop_.After(milliseconds(2), [this] { nodes_[1].Die(); });
  Start(0);
  ExpectRefused(kExitCannotLaunch, "10.0.0.2:\n    Broken pipe");
}

TEST_F(AttemptStarterTest, AFailingLauncherIsAnError) {
  options_.make_launcher = [](const v1::LaunchPlan&, const launch::LaunchOptions&) {
    return Result<std::unique_ptr<launch::Launcher>>(
        Error(StatusCode::kNotFound, "no agent at /nowhere"));
  };
  Start(0);
  ExpectRefused(kExitCannotLaunch, "no agent at /nowhere");
}

TEST_F(AttemptStarterTest, UnwritableLogsPreventTheStart) {
  options_.log_folder = "/dev/null/logs";
  bool running = false;
  options_.on_running = [&] { running = true; };
  Start(0);
  ExpectRefused(kExitCannotLaunch, "/dev/null/logs");
  EXPECT_FALSE(running);
}

// Ctrl-C.

TEST_F(AttemptStarterTest, CtrlCBeforeTheStartLaunchesNothing) {
  stop_.Interrupted(SIGTERM, loop_.Now());
  Start(0);
  ExpectRefused(143, kInterrupted);
  EXPECT_EQ(nodes_[0].launches, 0);
}

TEST_F(AttemptStarterTest, CtrlCCancelsALaunch) {
  nodes_[1].launch_hangs = true;
  InterruptAfter(seconds(2));
  Start(0);
  ExpectRefused(130, kInterrupted);
  EXPECT_LT(took_, seconds(3));
}

TEST_F(AttemptStarterTest, CtrlCCancelsARepeatedPreparation) {
  nodes_[0].taken = {{kFirstPort}};
  nodes_[2].prepare_hangs = true;
  InterruptAfter(seconds(2));
  Start(0);
  ExpectRefused(130, kInterrupted);
  EXPECT_LT(took_, seconds(3));
}

TEST_F(AttemptStarterTest, CtrlCDoesNotWaitForADisk) {
  loop_.TakesTimeInBackground(seconds(20));
  InterruptAfter(seconds(2));
  Start(0);
  ExpectRefused(130, kInterrupted);
  EXPECT_LT(took_, seconds(3));
}

// Ports.

TEST_F(AttemptStarterTest, ATakenPortMovesThePlan) {
  nodes_[0].taken = {{kFirstPort}, {kFirstPort + 1}};
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(planned_, SizeIs(2));
  EXPECT_EQ(planned_.back().attempt, 0u);
  EXPECT_THAT(planned_.back().members, ElementsAre("10.0.0.1", "10.0.0.2", "node3"));
  EXPECT_THAT(attempt_->plan().nodes(0).ports(), testing::Contains(kFirstPort + 2));
  for (uint32_t node = 0; node < 3; ++node) EXPECT_EQ(nodes_[node].prepares, 2) << node;
}

TEST_F(AttemptStarterTest, PortsAreNotMovedForever) {
  nodes_[0].taken.assign(20, {kFirstPort});
  nodes_[2].taken.assign(20, {kFirstPort + 1});
  Start(0);
  ExpectRefused(kExitCannotLaunch, "4711 on 10.0.0.1, 4712 on node3");
  EXPECT_THAT(refused_.report, HasSubstr("ss -tlnp"));
  EXPECT_THAT(planned_, SizeIs(5));
}

TEST_F(AttemptStarterTest, APortChosenByTheUserStays) {
  options_.launch.request.set_master_port(kFirstPort);
  nodes_[0].taken = {{kFirstPort}};
  Start(0);
  ExpectRefused(kExitCannotLaunch, "--master-port");
  EXPECT_THAT(planned_, IsEmpty());
}

TEST_F(AttemptStarterTest, WithoutAnotherPlanPortsStay) {
  options_.plan_attempt = nullptr;
  nodes_[0].taken = {{kFirstPort}};
  Start(0);
  ExpectRefused(kExitCannotLaunch, "4711 on 10.0.0.1");
}

class SecondPlanTest : public AttemptStarterTest {
 protected:
  SecondPlanTest() {
    nodes_[0].taken = {{kFirstPort}};
    options_.plan_attempt = [this, plan_attempt = options_.plan_attempt](const auto& replan) {
      if (planned_.empty()) nodes_[1].CutLink();
      return plan_attempt(replan);
    };
  }
};

TEST_F(SecondPlanTest, ANodeThatIsDisconnectedBeforeItIsAwaited) {
  loop_.After(seconds(20), [this] { nodes_[1].unreachable = false; });
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_GE(took_, seconds(20));
}

TEST_F(SecondPlanTest, ANodeThatIsLostBeforeItEndsTheStart) {
  Start(0);
  ExpectRefused(
      kExitCannotLaunch,
      "no rank was started: the job needs 3 nodes and has 2; 10.0.0.2 is lost: no answer");
  EXPECT_LE(took_, 2 * kLease + seconds(1));
}

TEST_F(SecondPlanTest, CtrlCEndsTheWait) {
  InterruptAfter(seconds(5));
  Start(0);
  ExpectRefused(130, kInterrupted);
  EXPECT_LT(took_, seconds(6));
}

TEST_F(AttemptStarterTest, ALostRaceForAPortAllowsAnotherAttempt) {
  Start(0);
  ASSERT_TRUE(attempt_);
  attempt_->began = loop_.Now();
  attempt_->Take(1, test::RankExited(2, 1));
  EXPECT_FALSE(MayHaveLostPortRace()) << "that node opens none";
  Start(0);
  ASSERT_TRUE(attempt_);
  attempt_->began = loop_.Now();
  attempt_->Take(0, test::RankExited(0, 1));
  EXPECT_TRUE(MayHaveLostPortRace());
  Wait(RestartPolicy::kCrashLoop + seconds(1));
  EXPECT_FALSE(MayHaveLostPortRace()) << "it had long been open";
}

// Data addresses that nodes report.

class AskingStarterTest : public AttemptStarterTest {
 protected:
  AskingStarterTest() : AttemptStarterTest(AskingInput()) {}

 private:
  static plan::Input AskingInput() {
    plan::Input input = test::ThreeNodeInput();
    input.address_of["10.0.0.2"].ask = true;
    return input;
  }
};

TEST_F(AskingStarterTest, AnUnexpectedAddressIsUsedInThePlan) {
  nodes_[1].data_address = "10.9.0.2";
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  ASSERT_THAT(planned_, SizeIs(1));
  EXPECT_THAT(planned_[0].reported_addresses, ElementsAre(Pair("10.0.0.2", "10.9.0.2")));
  EXPECT_EQ(attempt_->plan().nodes(1).data_address(), "10.9.0.2");
}

TEST_F(AskingStarterTest, TheExpectedAddressChangesNothing) {
  nodes_[1].data_address = "10.0.0.2";
  Start(0);
  EXPECT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(planned_, IsEmpty());
}

TEST_F(AskingStarterTest, ANodeThatReportsNoAddressIsNamed) {
  Start(0);
  ExpectRefused(kExitCannotLaunch, "10.0.0.2 does not report its address");
}

// Devices of other jobs.

TEST_F(AttemptStarterTest, DevicesAreAwaitedIfRequested) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs = {HasGpu(3), HasGpu(3), HasGpu(1)};
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(nodes_[0].other_jobs, IsEmpty());
  EXPECT_EQ(nodes_[2].prepares, 3);
  EXPECT_THAT(Messages(), HasSubstr("waiting for devices (10.0.0.1: "));
}

TEST_F(AttemptStarterTest, DevicesAreNotAwaitedByDefault) {
  nodes_[0].other_jobs = {HasGpu(3)};
  Start(0);
  EXPECT_TRUE(attempt_) << refused_.report;
  EXPECT_EQ(nodes_[0].prepares, 0);
}

TEST_F(AttemptStarterTest, PortsMayMoveAfterDevicesWereAwaited) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs = {HasGpu(3)};
  nodes_[0].taken = {{}, {kFirstPort + 1}};
  Start(0);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->plan().nodes(0).ports(), testing::Contains(kFirstPort + 2));
}

TEST_F(AttemptStarterTest, CtrlCEndsTheWaitForDevices) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs.assign(1'000, HasGpu(3));
  InterruptAfter(seconds(30));
  Start(0);
  ExpectRefused(130, kInterrupted);
  EXPECT_LT(took_, seconds(31));
}

TEST_F(AttemptStarterTest, ANodeLostWhileDevicesAreAwaitedIsNamed) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  nodes_[0].other_jobs.assign(1'000, HasGpu(3));
  loop_.After(seconds(20), [this] { nodes_[1].CutLink(); });
  Start(0);
  ExpectRefused(kExitCannotLaunch, "10.0.0.2 is lost: ");
  EXPECT_LE(took_, seconds(20) + 2 * kLease + seconds(15));
}

TEST_F(AttemptStarterTest, ARestartDoesNotAwaitDevices) {
  options_.launch.request.set_on_busy(v1::ON_BUSY_WAIT);
  RunFirst([this] { nodes_[1].Exit(3, 7); });
  nodes_[0].other_jobs = {HasGpu(3)};
  Start(1);
  EXPECT_TRUE(attempt_) << refused_.report;
  EXPECT_EQ(nodes_[0].prepares, 1);
}

// Restarts.

TEST_F(AttemptStarterTest, ARestartPreparesEveryNodeAgain) {
  RunFirst([this] { nodes_[1].Exit(3, 7); });
  Start(1);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_EQ(attempt_->number(), 1u);
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 1, 2));
  ASSERT_THAT(planned_, SizeIs(1));
  EXPECT_EQ(planned_[0].attempt, 1u);
  for (uint32_t node = 0; node < 3; ++node) {
    EXPECT_EQ(nodes_[node].prepares, 1) << node;
    EXPECT_THAT(nodes_[node].running(), IsEmpty()) << node;
  }
}

TEST_F(AttemptStarterTest, ARestartIncludesANodeWhoseAgentDied) {
  RunFirst([this] { nodes_[1].Die(); });
  Start(1);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 1, 2));
  EXPECT_LT(took_, seconds(5));
}

TEST_F(AttemptStarterTest, ARestartContinuesWithFewerMembers) {
  options_.launch.request.set_min_nodes(2);
  RunFirst([this] { nodes_[1].CutLink(); }, kLease + seconds(5));
  Start(1);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 2));
  EXPECT_THAT(planned_.back().members, ElementsAre("10.0.0.1", "node3"));
  EXPECT_EQ(nodes_[1].prepares, 0);
  // The second member is the third node.
  v1::AgentEvent event;
  event.mutable_rendezvous_request()->set_id(1);
  event.mutable_rendezvous_request()->mutable_set()->set_key("key");
  attempt_->Take(1, event);
  Wait(seconds(1));
  EXPECT_EQ(std::ranges::count_if(nodes_[2].received, &v1::ChiefMessage::has_rendezvous_reply), 1);
}

TEST_F(AttemptStarterTest, RanksOfADisconnectedNodeEndBeforeAnAttemptWithoutIt) {
  options_.launch.request.set_min_nodes(2);
  RunFirst([this] { nodes_[1].CutLink(); });
  Start(1);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 2));
  EXPECT_GE(took_, kLease - seconds(10));
  EXPECT_LT(took_, kLease + seconds(10));
}

// Until then, it is not reached.
TEST_F(AttemptStarterTest, ANecessaryNodeIsAwaitedForALeaseOnceItsRanksHaveEnded) {
  RunFirst([this] { nodes_[1].CutLink(); });
  Start(1);
  ExpectRefused(kExitCannotLaunch, "restart: the job needs 3 nodes and has 2; 10.0.0.2 is lost");
  EXPECT_GT(took_, 2 * kLease - seconds(10));
  EXPECT_LT(took_, 2 * kLease + seconds(10));
}

TEST_F(AttemptStarterTest, TooFewNodesAreNoAttempt) {
  options_.launch.request.set_min_nodes(2);
  RunFirst(
      [this] {
        nodes_[1].CutLink();
        nodes_[2].CutLink();
      },
      kLease + seconds(5));
  Start(1);
  ExpectRefused(kExitCannotLaunch, "restart: the job needs 2 nodes and has 1; 10.0.0.2 is lost, ");
  ExpectRefused(kExitCannotLaunch,
                "\n    hint: run with --min-nodes 1 to restart with fewer nodes");
  EXPECT_THAT(planned_, IsEmpty());
}

TEST_F(AttemptStarterTest, ANodeLostWhileOthersArePreparedIsLeftOut) {
  options_.launch.request.set_min_nodes(2);
  const auto plan_attempt = options_.plan_attempt;
  options_.plan_attempt = [&](const plan::Replan& replan) {
    if (planned_.empty()) nodes_[1].CutLink();
    return plan_attempt(replan);
  };
  RunFirst([this] { nodes_[0].Exit(0, 7); });
  Start(1);
  ASSERT_TRUE(attempt_) << refused_.report;
  EXPECT_THAT(attempt_->nodes(), ElementsAre(0, 2));
  EXPECT_THAT(planned_, SizeIs(2));
}

TEST_F(AttemptStarterTest, CtrlCEndsTheWaitForANode) {
  RunFirst([this] { nodes_[1].CutLink(); });
  InterruptAfter(seconds(20));
  Start(1);
  EXPECT_FALSE(attempt_);
  EXPECT_EQ(refused_.exit_code, 130);
  EXPECT_LT(took_, seconds(21));
}

TEST_F(AttemptStarterTest, AFailingPlanEndsTheStart) {
  options_.plan_attempt = [](const plan::Replan&) {
    return Result<v1::LaunchPlan>(Error(StatusCode::kInvalidArgument, "a world of 3 is no square"));
  };
  RunFirst([this] { nodes_[1].Exit(3, 7); });
  Start(1);
  ExpectRefused(kExitCannotLaunch, "restart: a world of 3 is no square");
}

TEST_F(AttemptStarterTest, MissingNodesAreNotCountedAsARestart) {
  options_.launch.request.set_min_nodes(2);
  RunFirst([this] { nodes_[1].Die(); });
  EXPECT_TRUE(IsRestarted());
}

TEST_F(AttemptStarterTest, WithoutRestartsThereIsNoWait) {
  RunFirst([this] { nodes_[1].Exit(3, 7); });
  EXPECT_FALSE(IsRestarted());
}

}  // namespace
}  // namespace autodist::chief
