// chief_work NODES   runs the chief's code for a job of NODES simulated nodes with 8 ranks each,
// with a simulated clock: the job starts, samples arrive, two viewers request updates, a node is
// disconnected for a while, a rank fails
//
// Never waits, and is deterministic: `growth` counts its instructions.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "agent_sim/made_up_sample.h"
#include "chief/job.h"
#include "plan/plan.h"
#include "support/fake_nodes.h"
#include "support/temp_folder.h"

namespace autodist::scale {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr uint32_t kRanks = 8;
constexpr milliseconds kSampleInterval{2'000};
constexpr milliseconds kViewerInterval{2'500};
constexpr int kViewers = 2;
constexpr seconds kRuns{20};
constexpr int kExitCode = 3;  // of the failing rank

v1::LaunchPlan PlanOf(uint32_t nodes) {
  plan::Input input;
  input.command = {"/bin/true"};
  input.job_id = "work";
  input.user = {"user", "/home/user", "/tmp", ""};
  input.working_directory = "/tmp";
  input.master_port = 29'500;
  input.spec.ssh["lab"] = {};
  for (uint32_t i = 0; i < nodes; ++i) {
    spec::Node& node = input.spec.nodes.emplace_back();
    node.address = "node" + std::to_string(i);
    node.chief = i == 0;
    node.ssh_config = "lab";
    for (uint32_t gpu = 0; gpu < kRanks; ++gpu) node.gpus.push_back(gpu);
    input.address_of[node.address] = {node.address, node.address, "", {}};
  }
  return *plan::MakePlan(input);
}

class Work {
 public:
  explicit Work(uint32_t nodes) : plan_(PlanOf(nodes)) {
    options_.log_folder = folder_.path() + "/logs";
    options_.launch.request.set_no_preflight(true);
    options_.make_launcher = [this](const v1::LaunchPlan&, const launch::LaunchOptions&) {
      return Result<std::unique_ptr<launch::Launcher>>(nodes_.MakeLauncher());
    };
  }

  int Run() {
    chief::Job job(plan_, options_, std::move(owned_loop_));
    for (uint32_t node = 0; node < nodes_.size(); ++node) SampleAfter(node, seconds(1), 1);
    for (int viewer = 0; viewer < kViewers; ++viewer) View(job, seconds(1) * (viewer + 1));
    loop_.After(kRuns / 2, [this] { nodes_[nodes_.size() / 2].Break(); });
    loop_.After(kRuns, [this] {
      const auto& running = nodes_[nodes_.size() - 1].running();
      if (!running.empty()) nodes_[nodes_.size() - 1].Exit(*running.begin(), kExitCode);
    });
    return job.Run();
  }

 private:
  void SampleAfter(uint32_t node, milliseconds time, uint32_t number) {
    loop_.After(time, [this, node, number] {
      if (nodes_[node].running().empty()) return;
      v1::AgentEvent event;
      *event.mutable_sample() = test::MadeUpSample(nodes_[node].running(), number + node);
      nodes_[node].Send(std::move(event));
      SampleAfter(node, kSampleInterval, number + 1);
    });
  }
  void View(chief::Job& job, milliseconds after, uint64_t known = 0) {
    loop_.After(after, [this, &job, known] {
      v1::GetSnapshotRequest request;
      request.set_known(known);
      job.Requests().snapshots.snapshot(request, [this, &job](const auto& snapshot) {
        if (snapshot->job().phase() == v1::JOB_PHASE_RUNNING || snapshot->job().phase() == 0) {
          View(job, kViewerInterval, snapshot->version());
        }
      });
    });
  }

  const test::TempFolder folder_;
  const v1::LaunchPlan plan_;
  std::unique_ptr<test::TurnedLoop> owned_loop_ = std::make_unique<test::TurnedLoop>();
  test::TurnedLoop& loop_ = *owned_loop_;
  test::FakeNodes nodes_{loop_, plan_};
  chief::JobOptions options_;
};

}  // namespace
}  // namespace autodist::scale

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("chief_work NODES\n", stderr);
    return 2;
  }
  const auto nodes = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const int code = autodist::scale::Work(nodes).Run();
  return code == autodist::scale::kExitCode ? 0 : 1;
}
