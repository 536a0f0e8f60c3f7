#include "cli/burn.h"

#include <algorithm>
#include <utility>

#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "chief/run_job.h"
#include "cli/commands.h"
#include "cli/embedded_job.h"
#include "diagnosis/burn_checks.h"
#include "json/proto_json.h"

namespace autodist::cli {
namespace {

// The job of `doctor`, with another program: it has its nodes and variables.
Result<EmbeddedJob> JobThatBurns(const spec::ResourceSpec& spec, v1::JobRequest request,
                                 std::chrono::milliseconds time) {
  AD_ASSIGN_OR_RETURN(const transfer::BenchPrograms programs,
                      transfer::InstallBenchPrograms(base::HomeFolder()));
  const bool gpus =
      std::ranges::any_of(spec.nodes, [](const spec::Node& node) { return !node.gpus.empty(); });
  const auto& command = gpus ? programs.burn.for_gpus : programs.burn.for_cpus;
  *request.mutable_program() = {command.begin(), command.end()};
  request.add_program(std::to_string(time.count()));
  request.clear_per();
  request.clear_framework();
  request.clear_sync();
  request.clear_json();
  request.set_no_preflight(true);  // doctor has just checked the nodes
  AD_ASSIGN_OR_RETURN(EmbeddedJob job, MakeEmbeddedJob(spec, std::move(request), programs));
  AD_ASSIGN_OR_RETURN(job.options.view.show, display::ShownRanks::Parse("none"));
  return job;
}

std::string NameOf(const v1::Device& device) {
  return (device.kind() == v1::DEVICE_KIND_GPU ? "GPU " : "CPU ") + std::to_string(device.index());
}

// What each rank has printed.
Result<std::vector<v1::BurnedDevice>> ResultsIn(const std::string& folder,
                                                const v1::LaunchPlan& plan) {
  constexpr size_t kLongestResult = 64 << 10;
  std::vector<v1::BurnedDevice> devices;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      const std::string file = folder + "/rank-" + std::to_string(rank.rank()) + ".out";
      AD_ASSIGN_OR_RETURN(const std::string line, base::ReadFile(file, kLongestResult));
      v1::BurnedDevice& device = devices.emplace_back();
      device.set_node(node.node_rank());
      device.set_rank(rank.rank());
      device.set_name(NameOf(rank.device()));
      AD_RETURN_IF_ERROR(Annotate(json::FromJson(line, *device.mutable_result()), file));
    }
  }
  return devices;
}

}  // namespace

int Burn(const spec::ResourceSpec& spec, const v1::JobRequest& doctor,
         std::chrono::milliseconds time, v1::Diagnosis& diagnosis) {
  auto job = JobThatBurns(spec, doctor, time);
  if (!job.ok()) return Fail(job.status(), kExitCannotLaunch);
  const std::string folder = job->options.log_folder.path();
  const int exit_code = chief::RunJob(job->plan, std::move(job->options));
  if (exit_code != 0) return exit_code;
  auto devices = ResultsIn(folder, job->plan);
  if (!devices.ok()) return Fail(devices.status(), kExitCannotLaunch);
  for (v1::BurnedDevice& device : *devices) *diagnosis.add_burned() = std::move(device);
  diagnosis::JudgeBurn(diagnosis);
  return 0;
}

}  // namespace autodist::cli
