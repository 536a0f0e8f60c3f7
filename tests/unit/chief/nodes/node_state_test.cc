#include "chief/nodes/node_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;

class NodeStateTest : public testing::Test {
 protected:
  static NodeState::Time At(milliseconds time) { return NodeState::Time(time); }

  std::vector<std::pair<v1::NodePhase, std::string>> changes_;
  NodeState state_{seconds(60), [this](v1::NodePhase phase, const std::string& why) {
                     changes_.emplace_back(phase, why);
                   }};
};

TEST_F(NodeStateTest, TellsEachPhaseOnce) {
  state_.Running();  // not before it is ready
  state_.Ready();
  state_.Ready();
  state_.Running();
  state_.Stopping();
  state_.Ended();
  state_.Lost("too late");
  EXPECT_THAT(changes_,
              ElementsAre(Pair(v1::NODE_PHASE_READY, ""), Pair(v1::NODE_PHASE_RUNNING, ""),
                          Pair(v1::NODE_PHASE_STOPPING, ""), Pair(v1::NODE_PHASE_ENDED, "")));
  EXPECT_FALSE(state_.alive());
}

TEST_F(NodeStateTest, ABrokenConnectionGivesBackThePhaseBefore) {
  state_.Ready();
  state_.Running();
  state_.Broken("reset", At(seconds(100)), At(seconds(103)));
  EXPECT_TRUE(state_.reconnecting());
  EXPECT_TRUE(state_.alive());
  EXPECT_EQ(state_.detail(), "reset");
  EXPECT_EQ(state_.lost_at(), At(seconds(160)));  // the lease runs since it was heard
  state_.Broken("again", At(seconds(130)), At(seconds(130)));
  EXPECT_EQ(state_.lost_at(), At(seconds(160)));
  state_.Back(At(milliseconds(104'500)));
  EXPECT_EQ(state_.phase(), v1::NODE_PHASE_RUNNING);
  EXPECT_EQ(state_.detail(), "connected again after 1.5 s");
}

TEST_F(NodeStateTest, AStopMeanwhileIsKnownWhenItIsBack) {
  state_.Ready();
  state_.Broken("reset", At(seconds(1)), At(seconds(1)));
  state_.Stopping();
  EXPECT_TRUE(state_.reconnecting());
  state_.Back(At(seconds(2)));
  EXPECT_EQ(state_.phase(), v1::NODE_PHASE_STOPPING);
}

TEST_F(NodeStateTest, ALostNodeStaysSoUntilItIsReadyAgain) {
  state_.Ready();
  state_.Lost("why");
  state_.Ended();
  state_.Stopping();
  state_.Broken("reset", At(seconds(1)), At(seconds(1)));
  state_.Back(At(seconds(2)));
  EXPECT_EQ(state_.phase(), v1::NODE_PHASE_LOST);
  EXPECT_EQ(state_.detail(), "why");
  state_.Ready();
  EXPECT_TRUE(state_.alive());
}

TEST_F(NodeStateTest, ANodeThatDoesNotAnswerIsSilentAfterAWhile) {
  state_.Asked(At(seconds(10)), At(seconds(9)));
  EXPECT_EQ(state_.SilentAt(At(seconds(9))), At(seconds(19)));
  EXPECT_EQ(state_.SilentAt(At(seconds(11))), NodeState::Time::max());  // it has answered
}

TEST_F(NodeStateTest, WhatWasSpentStoppedOurselvesDoesNotCount) {
  state_.Asked(At(seconds(10)), At(seconds(9)));
  state_.Asked(At(seconds(14)), At(seconds(9)));
  state_.Forgive(At(seconds(21)));
  EXPECT_EQ(state_.SilentAt(At(seconds(9))), At(seconds(31)));
}

TEST_F(NodeStateTest, AConnectionIsNoAnswer) {
  state_.Ready();
  state_.Broken("reset", At(seconds(100)), At(seconds(103)));
  state_.Linked(At(seconds(110)));
  EXPECT_TRUE(state_.reconnecting());
  EXPECT_EQ(state_.lost_at(), At(seconds(160)));
  EXPECT_EQ(state_.SilentAt(At(seconds(100))), At(seconds(120)));  // and is given up
  EXPECT_EQ(state_.SilentAt(At(seconds(111))), NodeState::Time::max());
}

TEST_F(NodeStateTest, ALeaseDoesNotRunWhileWeWereStoppedOurselves) {
  state_.Ready();
  state_.Forgive(At(seconds(500)));
  state_.Broken("reset", At(seconds(100)), At(seconds(501)));
  EXPECT_EQ(state_.lost_at(), At(seconds(560)));
}

TEST_F(NodeStateTest, WithAShortLeaseHalfOfItIsTheLimit) {
  NodeState state(seconds(4), [](v1::NodePhase, const std::string&) {});
  state.Asked(At(seconds(10)), At(seconds(9)));
  EXPECT_EQ(state.SilentAt(At(seconds(9))), At(seconds(11)));
}

}  // namespace
}  // namespace autodist::chief
