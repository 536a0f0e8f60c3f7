#include "cli/bench_job.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/for_user.h"
#include "chief/plan_job.h"
#include "slurm/steps.h"
#include "transfer/sync_source.h"

namespace autodist::cli {
namespace {

constexpr std::array<std::pair<const char*, v1::Collective>, 6> kCollectives = {
    {{"all-reduce", v1::COLLECTIVE_ALL_REDUCE},
     {"all-gather", v1::COLLECTIVE_ALL_GATHER},
     {"reduce-scatter", v1::COLLECTIVE_REDUCE_SCATTER},
     {"broadcast", v1::COLLECTIVE_BROADCAST},
     {"all-to-all", v1::COLLECTIVE_ALL_TO_ALL},
     {"send-recv", v1::COLLECTIVE_SEND_RECV}}};

auto NodeWithoutGpu(const spec::ResourceSpec& spec) {
  return std::ranges::find_if(
      spec.nodes, [](const spec::Node& node) { return node.gpus.empty() && !node.cpus.empty(); });
}

Result<v1::Backend> ChooseBackend(const std::string& wanted, const spec::ResourceSpec& spec) {
  const auto without = NodeWithoutGpu(spec);
  if (wanted == "gloo") return v1::BACKEND_GLOO;
  if (wanted == "auto") return BackendOf(spec);
  if (without == spec.nodes.end()) return v1::BACKEND_NCCL;
  const bool any = std::ranges::any_of(
      spec.nodes, [](const spec::Node& node) { return !node.gpus.empty() || node.cpus.empty(); });
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "--backend nccl, but there is no GPU "
            "on node " +
                without->address),
      any ? base::ForUser("[spec|take the node out of the spec, or ]use --backend gloo")
          : "use --backend gloo");
}

constexpr double kGrace = 5;  // seconds; the programs exit immediately on SIGTERM

Result<v1::LaunchPlan> PlanWithoutPorts(const plan::Input& input, const plan::Replan& replan) {
  AD_ASSIGN_OR_RETURN(v1::LaunchPlan plan, chief::PlanAttempt(input, replan));
  for (v1::NodePlan& node : *plan.mutable_nodes()) node.clear_ports();  // not opened
  return plan;
}

}  // namespace

std::vector<std::string> CollectiveNames() {
  std::vector<std::string> names;
  names.reserve(kCollectives.size());
  for (const auto& [name, collective] : kCollectives) names.emplace_back(name);
  return names;
}

v1::Backend BackendOf(const spec::ResourceSpec& spec) {
  return NodeWithoutGpu(spec) == spec.nodes.end() ? v1::BACKEND_NCCL : v1::BACKEND_GLOO;
}

Result<v1::BenchPlan> MakeBenchPlan(const BenchOptions& options, const spec::ResourceSpec& spec) {
  if (options.from == 0 || options.from > options.to) {
    return Error(StatusCode::kInvalidArgument, "--from " + std::to_string(options.from) + " --to " +
                                                   std::to_string(options.to) +
                                                   " bytes leaves no size to measure");
  }
  v1::BenchPlan plan;
  AD_ASSIGN_OR_RETURN(const v1::Backend backend, ChooseBackend(options.backend, spec));
  plan.set_backend(backend);
  for (const auto& [name, collective] : kCollectives) {
    if (options.collectives.empty() || std::ranges::count(options.collectives, name) > 0) {
      plan.add_collectives(collective);
    }
  }
  plan.set_from(options.from);
  plan.set_to(options.to);
  plan.set_factor(options.factor);
  plan.set_iterations(options.iterations);
  plan.set_warmup(options.warmup);
  plan.set_budget_ms(static_cast<uint32_t>(options.budget_s * 1000));
  plan.set_csv_file(options.csv_file);
  return plan;
}

Result<EmbeddedJob> MakeEmbeddedJob(const spec::ResourceSpec& spec, v1::JobRequest request,
                                    const transfer::BenchPrograms& programs) {
  request.set_workdir(programs.on_nodes);
  request.set_grace(kGrace);
  request.set_sample_interval(0);  // sampling would disturb the measurement
  AD_ASSIGN_OR_RETURN(const plan::Input input, chief::InputOf(spec, request));
  EmbeddedJob job;
  AD_ASSIGN_OR_RETURN(job.plan, PlanWithoutPorts(input, {}));
  job.options.launch.request = request;
  job.options.launch.connector =
      slurm::ConnectorFor(job.plan, request.agent(), job.options.launch.lease());
  job.options.log_folder = request.log_dir() + "/" + job.plan.job_id();
  job.options.plan_attempt = [input](const plan::Replan& replan) {
    return PlanWithoutPorts(input, replan);
  };
  AD_ASSIGN_OR_RETURN(job.options.launch.sync, transfer::SyncOf(programs.folder, job.plan, ""));
  return job;
}

}  // namespace autodist::cli
