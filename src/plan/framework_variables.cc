#include "plan/framework_variables.h"

#include <absl/strings/str_replace.h>

#include <algorithm>
#include <set>

#include "framework/world.h"
#include "plan/plan.h"
#include "spec/yaml_reader.h"

namespace autodist::plan {
namespace {

constexpr char kSpec[] = R"(
nodes:
  - {address: 10.0.0.1, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: [10.1.0.1, 10.1.0.2, 10.1.0.3,
     10.1.0.4, 10.1.0.5, 10.1.0.6, 10.1.0.7, 10.1.0.8], chief: true}
  - {address: 10.0.0.2, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: [10.1.0.9, 10.1.0.10, 10.1.0.11,
     10.1.0.12, 10.1.0.13, 10.1.0.14, 10.1.0.15, 10.1.0.16], ssh_config: lab}
ssh:
  lab: {}
)";

// Plans two nodes with eight devices each.
Result<v1::LaunchPlan> ExamplePlan(const char* framework, v1::ProgramKind kind) {
  Input input;
  input.spec = *spec::ReadSpec(kSpec, "the example").spec;
  input.command = {"train"};
  input.request.set_per(kind);
  input.request.add_framework(framework);
  input.job_id = "20261120-173000-3fa9c1";
  input.user = {"me", "/home/me", "/home/me", ""};
  input.working_directory = input.user.working_directory;
  input.master_port = 41234;
  input.rank_port = 20000;
  for (const spec::Node& node : input.spec.nodes) {
    input.address_of[node.address] = {node.address, node.address, "", {}};
  }
  return MakePlan(input);
}

// Returns what the framework sets on a node in addition to what every program gets.
std::vector<ExampleVariable> SetOn(const v1::NodePlan& node, const v1::LaunchPlan& plan) {
  std::vector<ExampleVariable> variables;
  const auto add = [&](const v1::EnvironmentVariable& variable) {
    if (variable.name().starts_with("AUTODIST_")) return;
    const bool all_gpus =
        variable.value() == framework::CountUp(static_cast<uint32_t>(node.devices_size()));
    if (variable.name() == "CUDA_VISIBLE_DEVICES" && all_gpus) return;
    variables.push_back({variable.name(), variable.value()});
  };
  std::ranges::for_each(plan.environment(), add);
  std::ranges::for_each(node.ranks(node.ranks_size() > 1 ? 1 : 0).environment(), add);
  const std::set<std::string> always = {"NCCL_SOCKET_IFNAME",
                                        "GLOO_SOCKET_IFNAME",
                                        "TP_SOCKET_IFNAME",
                                        "OMP_NUM_THREADS",
                                        "PWD",
                                        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                        "NCCL_RAS_ADDR",
                                        "NCCL_SET_THREAD_NAME",
                                        "TORCH_FR_BUFFER_SIZE",
                                        "TORCH_FR_DUMP_TEMP_FILE",
                                        "TORCH_INCLUDE_STACK_TRACE",
                                        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
                                        "PYTHONUNBUFFERED",
                                        "AUTODIST_AGENT_SOCKET"};
  for (const v1::EnvironmentStep& step : node.environment()) {
    if (!step.has_set() || always.contains(step.set().name())) continue;
    const std::string example =
        step.set().has_on_node()
            ? absl::StrReplaceAll(step.set().on_node(), {{"{agent}", "autodist-agent"},
                                                         {"{files}/", "the path of "},
                                                         {"{interface}", "eth0"}})
            : step.set().literal();
    variables.push_back({step.set().name(), example});
  }
  return variables;
}

}  // namespace

Result<Example> ExampleOf(const framework::Framework& framework, v1::ProgramKind kind) {
  AD_ASSIGN_OR_RETURN(const v1::LaunchPlan plan, ExamplePlan(framework.name, kind));
  Example example;
  // The variables of the second node, then those that only the chief has.
  if (kind != v1::PROGRAM_KIND_PER_JOB) example.variables = SetOn(plan.nodes(1), plan);
  const bool others_too = !example.variables.empty();
  for (ExampleVariable& variable : SetOn(plan.nodes(0), plan)) {
    if (std::ranges::count(example.variables, variable.name, &ExampleVariable::name) > 0) continue;
    variable.on_chief = others_too;
    example.variables.push_back(std::move(variable));
  }
  example.pmix = plan.pmix();
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& process : node.ranks()) {
      if (process.auxiliary()) example.auxiliary.emplace_back(process.name(), node.address());
    }
  }
  return example;
}

}  // namespace autodist::plan
