#include "cli/bench_options.h"

#include <algorithm>
#include <array>
#include <utility>

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
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "--backend nccl, but the spec has no GPU "
                          "on node " +
                              without->address),
                    "leave the node out, or use --backend gloo");
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

}  // namespace autodist::cli
