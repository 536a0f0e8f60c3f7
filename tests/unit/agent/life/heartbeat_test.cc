#include "agent/life/heartbeat.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(HeartbeatTest, IsVisibleToAnotherProcess) {
  auto heartbeat = Heartbeat::Make();
  ASSERT_TRUE(heartbeat.ok());
  EXPECT_EQ(heartbeat->expires().when(), base::Deadline::Never().when());
  const auto expires = base::Deadline::After(seconds(5));
  const pid_t child = fork();
  if (child == 0) {
    heartbeat->Beat(milliseconds(1234));
    heartbeat->ExpireAt(expires);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(heartbeat->beats(), 1u);
  EXPECT_EQ(heartbeat->within(), milliseconds(1234));
  EXPECT_EQ(heartbeat->expires().when(), expires.when());
}

TEST(MissedBeatsTest, CountsChecksWithoutABeat) {
  MissedBeats missed;
  missed.Count(1, seconds(1));
  EXPECT_EQ(missed.missed(), seconds(0));
  missed.Count(1, seconds(1));
  missed.Count(1, milliseconds(500));
  EXPECT_EQ(missed.missed(), milliseconds(1500));
  missed.Count(2, seconds(1));
  EXPECT_EQ(missed.missed(), seconds(0));
}

}  // namespace
}  // namespace autodist::agent
