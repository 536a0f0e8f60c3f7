#include "launch/launch_progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace autodist::launch {
namespace {

using State = LaunchProgress::State;

class LaunchProgressTest : public testing::Test {
 protected:
  LaunchProgress::Clock::time_point now_;
  LaunchProgress progress_{{"a", "b", "c", "d", "e"}, [this] { return now_; }};
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
  EXPECT_EQ(progress_.WaitingFor(), "c (checking the node and preparing the environment)");
  progress_.Enter(2, State::kReady);
  EXPECT_EQ(progress_.WaitingFor(), "");
}

TEST_F(LaunchProgressTest, ALoginThatIsRetriedIsShownWithItsTime) {
  struct Row {
    State failure;
    std::vector<State> retry;
    std::string shown;
  };
  const Row rows[] = {
      {State::kLoginRefused, {State::kLoggingIn}, "logins are refused for now, retrying"},
      {State::kLoginRefused,
       {State::kLoggingIn, State::kInSsh},
       "logins are refused for now, retrying"},
      {State::kBooting, {State::kLoggingIn}, "not reached yet, retrying"},
      {State::kBooting, {State::kConnecting, State::kInContainer}, "not reached yet, retrying"},
  };
  for (const Row& row : rows) {
    progress_.Begin({1});
    progress_.Enter(1, row.failure);
    for (int i = 0; i < 40; ++i) {
      const std::string time = i < 10 ? "" : i < 30 ? ", for 20 s" : ", for 1 min";
      EXPECT_EQ(progress_.WaitingFor(), "b (" + row.shown + time + ")");
      for (const State state : row.retry) {
        progress_.Enter(1, state);
        EXPECT_EQ(progress_.WaitingFor(), "b (" + row.shown + time + ")");
      }
      now_ += std::chrono::seconds(2);
      progress_.Enter(1, row.failure);
    }
    // A failure of another kind begins again.
    const bool refused = row.failure == State::kLoginRefused;
    progress_.Enter(1, refused ? State::kBooting : State::kLoginRefused);
    EXPECT_EQ(progress_.WaitingFor(), refused ? "b (not reached yet, retrying)"
                                              : "b (logins are refused for now, retrying)");
    progress_.Enter(1, State::kLoggingIn);
    progress_.Enter(1, State::kLoggedIn);
    EXPECT_EQ(progress_.WaitingFor(), "b (logged in; its login shell has not run anything yet)");
    progress_.Enter(1, State::kLoggingIn);
    EXPECT_EQ(progress_.WaitingFor(), "b (connecting and logging in)");
  }
}

TEST_F(LaunchProgressTest, ARetryThatTakesLongIsShownAsItIs) {
  progress_.Begin({1});
  progress_.Enter(1, State::kLoginRefused);
  progress_.Enter(1, State::kInSsh);
  now_ += std::chrono::seconds(25);
  EXPECT_EQ(progress_.WaitingFor(),
            "b (ssh has not logged in, or the login shell has not run anything yet, for 20 s)");
  progress_.Enter(1, State::kLoginRefused);
  EXPECT_EQ(progress_.WaitingFor(), "b (logins are refused for now, retrying, for 20 s)");
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
            "a (checking the node and preparing the environment) and b (checking the node "
            "and preparing the environment)");
  progress_.Begin({1});
  EXPECT_EQ(progress_.WaitingFor(), "b");
}

}  // namespace
}  // namespace autodist::launch
