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
  const pid_t child = fork();
  if (child == 0) {
    heartbeat->Beat(milliseconds(1234));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(heartbeat->beats(), 1u);
  EXPECT_EQ(heartbeat->within(), milliseconds(1234));
}

TEST(MissedBeatsTest, CountsChecksWithoutABeat) {
  MissedBeats missed(seconds(1));
  missed.Count(1);
  EXPECT_EQ(missed.missed(), seconds(0));
  missed.Count(1);
  missed.Count(1);
  EXPECT_EQ(missed.missed(), seconds(2));
  missed.Count(2);
  EXPECT_EQ(missed.missed(), seconds(0));
}

}  // namespace
}  // namespace autodist::agent
