#include "launch/await_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/launch_progress.h"

namespace autodist::launch {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST(WhyNotStartedTest, TheStepDeterminesHeadlineAndHint) {
  struct Case {
    FailedStart failed;
    std::string cause, hint;
  };
  const seconds limit(60);
  const Case cases[] = {
      {{StartState::kShell, true, "which env? ", "", "the agent", limit},
       "the login shell has not run anything within 60 s, and prints:\n    which env? ",
       "--start-timeout"},
      {{StartState::kShell, true, "", "", "the agent", limit, true},
       "the container has not run anything within 60 s",
       "runtime"},
      {{StartState::kShell, false, "", "not available", "the agent", limit},
       "the server says: not available; the login succeeds, but runs no command",
       "getent passwd"},
      {{StartState::kShell, false, "", "", "the agent", limit},
       "no command runs: the login succeeds, and ends without running the command or printing "
       "anything",
       "`command=` in authorized_keys"},
      {{StartState::kShell, false, "", "Your password has expired.\n", "the agent", limit},
       "the server says: Your password has expired.",
       "set a new password"},
      {{StartState::kFolder, true, "", "", "the agent", limit},
       "the home folder or /tmp of the node has not answered within 60 s",
       "df ~/.cache /tmp"},
      {{StartState::kFolder, false, "", "/a: is full\nhint: make room\n", "the agent", limit},
       "no place for the agent on the node:\n/a: is full",
       "make room"},
      {{StartState::kSending, false, "", "", "the agent", limit},
       "the agent did not start: why",
       "make room"},
      {{StartState::kProgram, true, "", "", "the agent", limit},
       "the agent did not start within 60 s",
       "--start-timeout"},
      {{StartState::kProgram, false, "", "autodist-agent: no socket", "the agent", limit},
       "the agent did not start: why:\nautodist-agent: no socket",
       "/tmp"},
  };
  for (const Case& one : cases) {
    const Status why = WhyNotStarted(one.failed, Error(StatusCode::kUnavailable, "why"));
    EXPECT_EQ(Message(why), one.cause);
    EXPECT_THAT(Remedy(why), HasSubstr(one.hint));
    if (one.failed.state == StartState::kShell) {  // folders are still unknown
      EXPECT_THAT(Message(why) + Remedy(why), Not(HasSubstr(".cache")));
    }
  }
}

TEST(CoarseTimeTest, IsStableForAWhile) {
  EXPECT_EQ(CoarseTime(seconds(19)), "");
  EXPECT_EQ(CoarseTime(seconds(20)), "20 s");
  EXPECT_EQ(CoarseTime(seconds(59)), "20 s");
  EXPECT_EQ(CoarseTime(seconds(60)), "1 min");
  EXPECT_EQ(CoarseTime(seconds(299)), "2 min");
  EXPECT_EQ(CoarseTime(seconds(300)), "5 min");
  EXPECT_EQ(CoarseTime(seconds(600)), "10 min");
  EXPECT_EQ(CoarseTime(seconds(1300)), "20 min");
}

}  // namespace
}  // namespace autodist::launch
