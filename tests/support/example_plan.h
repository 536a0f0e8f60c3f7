// Plans of small specs, for tests of frameworks.
#pragma once

#include "plan/plan.h"
#include "spec/yaml_reader.h"

namespace autodist::test {

// The input for a spec with numeric addresses.
inline plan::Input InputFor(const std::string& spec, std::vector<std::string> frameworks,
                            v1::ProgramKind kind = v1::PROGRAM_KIND_PER_DEVICE) {
  plan::Input input;
  input.spec = *spec::ReadSpec(spec, "test").spec;
  input.command = {"./train"};
  input.request.set_per(kind);
  *input.request.mutable_framework() = {frameworks.begin(), frameworks.end()};
  input.job_id = "job-1";
  input.user = {"me", "/home/me", "/work", ""};
  input.working_directory = "/work";
  input.master_port = 4711;
  input.rank_port = 20000;
  for (const spec::Node& node : input.spec.nodes) {
    const std::string& data = node.data_address.empty() ? node.address : node.data_address;
    input.address_of[node.address] = {node.address, data, "", {}};
  }
  return input;
}

// The plan with common variables copied to each process of the program.
inline v1::LaunchPlan Whole(v1::LaunchPlan plan) {
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      if (!rank.auxiliary()) rank.mutable_environment()->MergeFrom(plan.environment());
    }
  }
  plan.clear_environment();
  return plan;
}

// Returns "(unset)" if the process does not have the variable.
inline std::string ValueOf(const v1::RankPlan& process, const std::string& name) {
  std::string value = "(unset)";
  for (const auto& variable : process.environment()) {
    if (variable.name() == name) value = variable.value();
  }
  return value;
}

// The step that sets the variable for the node; without a name if there is no such step.
inline v1::SetVariable StepOf(const v1::NodePlan& node, const std::string& name) {
  for (const v1::EnvironmentStep& step : node.environment()) {
    if (step.set().name() == name) return step.set();
  }
  return {};
}

// Two ranks on the first node, one on the second.
inline constexpr char kTwoAndOne[] = R"(
nodes:
  - {address: 10.0.0.1, cpus: [0, 1], chief: true}
  - {address: 10.0.0.2, ssh_config: lab}
ssh: {lab: {}}
)";

// Two GPUs on each of two nodes.
inline constexpr char kTwoTimesTwoGpus[] = R"(
nodes:
  - {address: 10.0.0.1, gpus: [2, 3], chief: true}
  - {address: 10.0.0.2, gpus: [0, 1], ssh_config: lab}
ssh: {lab: {}}
)";

}  // namespace autodist::test
