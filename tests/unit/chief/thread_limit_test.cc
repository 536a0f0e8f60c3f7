// A job where no more threads may be started. A program of its own: the nodes are forked.
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
constexpr uint32_t kFails = 32;  // the node whose rank does
constexpr int kFailed = 3;       // the exit code of that

// Of a job that may be restarted once. Ends this process with 0 where it was, without a new thread.
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
  bool restarted = false;
  std::thread following([&] {
    if (!(*nodes)->AwaitStarted(kNodes).ok()) return;
    test::ForbidThreads();
    if (!(*nodes)->FailRankOf(kFails).ok()) return;
    restarted = (*nodes)->AwaitStarted(kNodes + 1).ok();  // with the news of the failure
    (void)(*nodes)->FailRankOf(kFails);
  });
  const int code = RunJob(*plan::MakePlan(input), std::move(options));
  (*nodes)->Cancel();
  following.join();
  _exit(code == kFailed && restarted ? 0 : 1);
}

TEST(ThreadLimitTest, ARestartOf64NodesStartsNoThread) {
  EXPECT_EXIT(RunJobWithoutNewThreads(), testing::ExitedWithCode(0), "attempt 2");
}

}  // namespace
}  // namespace autodist::chief
