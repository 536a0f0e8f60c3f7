// A job that may start no more threads. A separate program, because the nodes are forked.
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "chief/loop/signal_watcher.h"
#include "chief/run_job.h"
#include "plan/plan.h"
#include "rpc/settings.h"
#include "scale/simulated_job.h"
#include "support/forbid_threads.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

constexpr uint32_t kNodes = 64;
constexpr uint32_t kRanks = 2;   // on each node
constexpr uint32_t kFails = 32;  // the node whose rank fails
constexpr int kFailed = 3;       // its exit code

// Runs a job that may be restarted once, without a new thread. Exits with 0 if that job ended as
// expected.
[[noreturn]] void RunJobWithoutNewThreads() {
  if (geteuid() == 0 && setresuid(test::kNobody, test::kNobody, test::kNobody) != 0) _exit(2);
  rpc::BeginProgram();
  const test::TempFolder folder;
  const auto nodes = scale::SimulatedNodes::Start(folder.path() + "/nodes");
  plan::Input input = scale::JobInput(kNodes, kRanks);
  JobOptions options;
  options.launch.request.set_agent(folder.Write("agent", "no program"));
  options.launch.request.set_max_restarts(1);
  options.launch.connector = scale::ConnectorTo(**nodes);
  options.log_folder = folder.path() + "/job";
  options.plan_attempt = [&input](const plan::Replan& replan) {
    input.members = replan.members;
    input.restart_count = replan.attempt;
    return plan::MakePlan(input);
  };
  SignalWatcher::Block();
  std::thread following([&] {
    if (!(*nodes)->AwaitStarted(kNodes).ok()) return;
    test::ForbidThreads();
    if (!(*nodes)->FailRankOf(kFails).ok()) return;
    // With the reported failure.
    if ((*nodes)->AwaitStarted(kNodes + 1).ok()) (void)(*nodes)->FailRankOf(kFails);
  });
  const int code = RunJob(*plan::MakePlan(input), std::move(options));
  (*nodes)->Cancel();
  following.join();
  _exit(code == kFailed ? 0 : 1);
}

// Under load, gRPC itself may need another thread. Its queued work is lost then, and so is the
// connection of a node, which may reconnect too late for the restart.
TEST(ThreadLimitTest, ARestartOf64NodesStartsNoThread) {
  EXPECT_EXIT(RunJobWithoutNewThreads(), testing::ExitedWithCode(0),
              "1 restart; exit code 3|(the connection is broken|has not answered).*restart: the "
              "job needs 64 nodes");
}

}  // namespace
}  // namespace autodist::chief
