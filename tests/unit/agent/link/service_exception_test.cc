// An exception in the agent's service, which gRPC would swallow.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <stdexcept>

#include "support/chief_end.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

constexpr unsigned kMaxSeconds = 60;

// Its watchdog then ends the ranks (watchdog_test.cc), which otherwise would run until the lease
// expires, because the session receives nothing more.
TEST(ServiceExceptionDeathTest, EndsTheAgent) {
  EXPECT_EXIT(
      {
        alarm(kMaxSeconds);
        test::SmallAgent agent;
        agent.when_paused = [] { throw std::out_of_range("map::at"); };
        const auto stub = v1::AgentService::NewStub(agent.server->Channel());
        test::ChiefEnd chief(*stub);
        chief.Resume();
        v1::ChiefMessage pause;
        pause.mutable_signal()->set_signal(SIGTSTP);
        chief.Order(pause, 1);
        chief.Next();
      },
      testing::KilledBySignal(SIGABRT), "map::at");
}

}  // namespace
}  // namespace autodist::agent
