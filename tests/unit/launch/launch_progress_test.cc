#include "launch/launch_progress.h"

#include <gtest/gtest.h>

namespace autodist::launch {
namespace {

using State = LaunchProgress::State;

class LaunchProgressTest : public testing::Test {
 protected:
  LaunchProgress progress_{{"a", "b", "c", "d", "e"}};
};

TEST_F(LaunchProgressTest, NothingIsAwaitedBeforeTheStart) {
  EXPECT_EQ(progress_.WaitingFor(), "");
}

TEST_F(LaunchProgressTest, NodesAreNamedWithTheirStep) {
  progress_.Begin({1, 2, 3});
  EXPECT_EQ(progress_.WaitingFor(), "b, c and d");
  progress_.Enter(1, State::kConnecting);
  progress_.Enter(2, State::kStartingAgent);
  progress_.Enter(3, State::kReady);
  EXPECT_EQ(progress_.WaitingFor(), "b (connecting) and c (starting the agent)");
  progress_.Enter(1, State::kLoggingIn);
  EXPECT_EQ(progress_.WaitingFor(), "b (connecting and logging in) and c (starting the agent)");
  progress_.Enter(1, State::kLoginRefused);
  progress_.Enter(2, State::kInSsh);
  EXPECT_EQ(progress_.WaitingFor(),
            "b (logins are refused for now, retrying) and c (ssh has not logged in, or the login "
            "shell has not run anything yet)");
  progress_.SendingAgent(2, 4'100'000, 11'500'000);
  progress_.Enter(1, State::kReady);
  EXPECT_EQ(progress_.WaitingFor(), "c (sending the agent, 4.1 MB of 12 MB)");
  progress_.SendingAgent(2, 11'500'000, 11'500'000);
  EXPECT_EQ(progress_.WaitingFor(),
            "c (the agent is sent, but has not been unpacked and started yet)");
  progress_.Enter(2, State::kInContainer);
  EXPECT_EQ(progress_.WaitingFor(), "c (its container has not run anything yet)");
  progress_.Enter(2, State::kPreparing);
  EXPECT_EQ(progress_.WaitingFor(), "c (checking the node and preparing the ranks' environment)");
  progress_.Enter(2, State::kReady);
  EXPECT_EQ(progress_.WaitingFor(), "");
}

TEST_F(LaunchProgressTest, OfManyNodesThoseThatHaveStartedAreNamed) {
  progress_.Begin({0, 1, 2, 3, 4});
  progress_.Enter(3, State::kConnecting);
  progress_.Enter(4, State::kConnecting);
  EXPECT_EQ(progress_.WaitingFor(), "d (connecting), e (connecting) and 3 others");
}

TEST_F(LaunchProgressTest, DuringASyncItsProgressIsShown) {
  progress_.Begin({0, 1});
  progress_.Enter(0, State::kSyncing);
  progress_.Enter(1, State::kConnecting);
  EXPECT_EQ(progress_.WaitingFor(), "");
  progress_.Enter(0, State::kPreparing);
  EXPECT_EQ(progress_.WaitingFor(), "");
  progress_.Enter(1, State::kPreparing);
  EXPECT_EQ(progress_.WaitingFor(),
            "a (checking the node and preparing the ranks' environment) and b (checking the node "
            "and preparing the ranks' environment)");
  progress_.Begin({1});
  EXPECT_EQ(progress_.WaitingFor(), "b");
}

}  // namespace
}  // namespace autodist::launch
