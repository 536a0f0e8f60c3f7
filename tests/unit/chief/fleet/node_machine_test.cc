#include "chief/fleet/node_machine.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace autodist::chief::node_machine_test {
namespace {

using enum NodeState;
using Event = NodeEvent;

constexpr std::array kStates = {kUnknown,      kConnecting, kBootstrapping, kProbing,
                                kLinked,       kReturned,   kReady,         kSpare,
                                kMember,       kStopping,   kDraining,      kDrained,
                                kDisconnected, kGone,       kLost,          kQuarantined};
static_assert(kStates.size() == kNodeStates);

NodeMachine After(const std::vector<Event>& events) {
  NodeMachine machine;
  for (const Event event : events) machine.Take(event, "why");
  return machine;
}

const std::vector<Event> kToMember = {Event::kConnect, Event::kBootstrap, Event::kProbe,
                                      Event::kLink,    Event::kAnswer,    Event::kChoose};

std::vector<Event> Then(std::vector<Event> events, const std::vector<Event>& more) {
  events.insert(events.end(), more.begin(), more.end());
  return events;
}

TEST(NodeMachineTest, TheLifeOfANode) {
  NodeMachine machine;
  const std::vector<std::pair<Event, NodeState>> life = {
      {Event::kConnect, kConnecting}, {Event::kBootstrap, kBootstrapping},
      {Event::kProbe, kProbing},      {Event::kLink, kLinked},
      {Event::kAnswer, kReady},       {Event::kChoose, kMember},
      {Event::kStop, kStopping},      {Event::kDrain, kDraining},
      {Event::kRanksEnded, kDrained}, {Event::kPrepare, kReady},
      {Event::kPassOver, kSpare},     {Event::kPrepare, kReady},
      {Event::kChoose, kMember},      {Event::kDismiss, kDraining},
      {Event::kRanksEnded, kDrained}, {Event::kLeave, kGone}};
  for (const auto& [event, state] : life) {
    machine.Take(event);
    EXPECT_EQ(machine.state(), state) << NameOf(event);
  }
}

// Invariants of every pair in any order. That each pair is in the table once is checked at compile
// time.
TEST(NodeMachineTest, EveryPairOfStateAndEvent) {
  for (const NodeState state : kStates) {
    for (size_t i = 0; i < kNodeEvents; ++i) {
      const auto event = static_cast<Event>(i);
      const NodeTransition next = Follow(state, event);
      const std::string pair = std::string(NameOf(state)) + ", " + NameOf(event);
      if (!IsAlive(state) && next.to != state) {
        const bool reached = event == Event::kConnect || event == Event::kBootstrap ||
                             event == Event::kProbe || event == Event::kLink;
        const bool given_up = event == Event::kLost && next.to == kLost;
        EXPECT_TRUE(reached || given_up)
            << pair << ": what is over stays so until it is reached again";
      }
      if (state == kQuarantined) {
        EXPECT_EQ(next.to, kQuarantined) << pair;
      }
      const bool sends =
          next.action == NodeAction::kSendEnd || next.action == NodeAction::kReconnect;
      EXPECT_TRUE(!sends || IsAlive(state)) << pair << ": sends to a dead node";
      EXPECT_EQ(next.action == NodeAction::kReportLoss,
                IsAlive(state) && (next.to == kLost || next.to == kQuarantined))
          << pair << ": it is reported once that a node is lost";
    }
  }
}

TEST(NodeMachineTest, ANodeIsAskedOnceToEndItsRanks) {
  NodeMachine machine = After(kToMember);
  EXPECT_EQ(machine.Take(Event::kDrain), NodeAction::kSendEnd);
  EXPECT_EQ(machine.Take(Event::kDrain), NodeAction::kNone);
  machine.Take(Event::kRanksEnded);
  EXPECT_EQ(machine.Take(Event::kDrain), NodeAction::kNone);
  EXPECT_EQ(machine.Take(Event::kDismiss), NodeAction::kSendEnd);  // the agent, too
}

TEST(NodeMachineTest, ANodeOnWhichRanksMayRunIsNotPrepared) {
  for (const std::vector<Event>& events :
       {std::vector<Event>{}, {Event::kStop}, {Event::kDrain}, {Event::kLost, Event::kLink}}) {
    NodeMachine machine = After(Then(kToMember, events));
    const NodeState before = machine.state();
    EXPECT_EQ(machine.Take(Event::kPrepare), NodeAction::kNone);
    EXPECT_EQ(machine.state(), before);
  }
  NodeMachine machine = After(kToMember);
  machine.Take(Event::kRanksEnded);  // an answer to an earlier order
  EXPECT_EQ(machine.state(), kMember);
}

TEST(NodeMachineTest, ALostNodeThatReturnsIsDrainedFirst) {
  NodeMachine machine = After(Then(kToMember, {Event::kLost, Event::kLink}));
  EXPECT_EQ(machine.state(), kReturned);
  for (const Event event :
       {Event::kPrepare, Event::kChoose, Event::kPassOver, Event::kStop, Event::kRanksEnded}) {
    EXPECT_EQ(machine.Take(event), NodeAction::kNone) << NameOf(event);
  }
  // Also if the connection breaks before the answer.
  machine.Take(Event::kBreak);
  EXPECT_EQ(machine.Take(Event::kAnswer), NodeAction::kSendEnd);
  EXPECT_EQ(machine.state(), kDraining);
  machine.Take(Event::kRanksEnded);
  machine.Take(Event::kPassOver);
  EXPECT_EQ(machine.state(), kSpare);
}

TEST(NodeMachineTest, AReconnectedNodeHasThePreviousState) {
  NodeMachine machine = After(kToMember);
  EXPECT_EQ(machine.Take(Event::kBreak, "reset"), NodeAction::kReconnect);
  EXPECT_TRUE(machine.disconnected());
  EXPECT_TRUE(machine.alive());
  EXPECT_EQ(machine.detail(), "reset");
  machine.Take(Event::kBreak, "again");
  EXPECT_EQ(machine.detail(), "reset");
  EXPECT_EQ(machine.Take(Event::kAnswer, "connected again"), NodeAction::kNone);
  EXPECT_EQ(machine.state(), kMember);
  EXPECT_EQ(machine.detail(), "connected again");
}

TEST(NodeMachineTest, OrdersDuringADisconnectionApplyAfterIt) {
  for (const auto& [meanwhile, state] : std::map<Event, NodeState>{
           {Event::kStop, kStopping}, {Event::kDrain, kDraining}, {Event::kDismiss, kDraining}}) {
    NodeMachine machine = After(Then(kToMember, {Event::kBreak}));
    EXPECT_EQ(machine.Take(meanwhile) == NodeAction::kSendEnd, meanwhile != Event::kStop);
    EXPECT_TRUE(machine.disconnected());
    machine.Take(Event::kAnswer);
    EXPECT_EQ(machine.state(), state) << NameOf(meanwhile);
  }
  // A node that had not answered before is ready.
  EXPECT_EQ(After({Event::kLink, Event::kBreak, Event::kAnswer}).state(), kReady);
}

TEST(NodeMachineTest, ALostNodeStaysLostUntilItIsReachedAgain) {
  NodeMachine machine = After(Then(kToMember, {Event::kEvict, Event::kLost}));
  EXPECT_EQ(machine.phase(), v1::NODE_PHASE_LOST);
  EXPECT_EQ(machine.detail(), "why");
  for (const Event event : {Event::kLeave, Event::kStop, Event::kBreak, Event::kAnswer}) {
    EXPECT_EQ(machine.Take(event, "late"), NodeAction::kNone);
  }
  EXPECT_EQ(machine.state(), kLost);
  EXPECT_EQ(machine.detail(), "why");
  EXPECT_EQ(machine.Take(Event::kLink), NodeAction::kOpenSession);
  EXPECT_TRUE(machine.alive());
  EXPECT_FALSE(machine.evicted());  // that was before it was lost
  machine.Take(Event::kRefuse, "lies");
  EXPECT_EQ(machine.Take(Event::kLink), NodeAction::kNone);
  EXPECT_EQ(machine.state(), kQuarantined);
}

TEST(NodeMachineTest, TheStepOfReachingANodeIsItsDetail) {
  NodeMachine machine;
  machine.Take(Event::kConnect);
  EXPECT_EQ(machine.detail(), "connecting");
  machine.Take(Event::kBootstrap);
  EXPECT_EQ(machine.detail(), "starting its agent");
  machine.Take(Event::kConnect);  // it was booting
  EXPECT_EQ(machine.detail(), "connecting");
  machine.Take(Event::kProbe);
  EXPECT_EQ(machine.detail(), "preparing");
  EXPECT_EQ(machine.phase(), v1::NODE_PHASE_LAUNCHING);
  machine.Take(Event::kLink);
  EXPECT_EQ(machine.detail(), "");
}

// Names of the states that a row applies to.
std::string StatesOf(uint32_t from) {
  std::string text;
  for (const NodeState state : kStates) {
    if ((from & (1u << static_cast<unsigned>(state))) == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(NameOf(state));
  }
  return text;
}

// docs/explanation/state_machines.md has the rows with an effect. Set UPDATE_GOLDEN=1 to write
// them.
TEST(NodeMachineTest, TheDocsHaveTheTable) {
  std::string table = "| event | in | leads to | and |\n|---|---|---|---|\n";
  for (const NodeRule& rule : NodeRules()) {
    if (rule.stays && rule.action == NodeAction::kNone) continue;
    table += std::string("| ") + NameOf(rule.event) + " | " + StatesOf(rule.from) + " | " +
             (rule.stays ? "(the same)" : NameOf(rule.to)) + " | " + NameOf(rule.action) + " |\n";
  }
  const std::filesystem::path file =
      std::filesystem::path(TEST_SOURCE_DIR).parent_path() / "docs/explanation/state_machines.md";
  std::ifstream in(file);
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const size_t begin = page.find("| event |", page.find("## States of a node\n"));
  ASSERT_NE(begin, std::string::npos);
  const size_t end = page.find("\n\n", begin) + 1;
  if (std::getenv("UPDATE_GOLDEN")) {
    std::ofstream(file) << page.substr(0, begin) + table + page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(begin, end - begin), table);
}

}  // namespace
}  // namespace autodist::chief::node_machine_test
