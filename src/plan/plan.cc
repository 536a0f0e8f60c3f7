#include "plan/plan.h"

#include <algorithm>

#include "base/utf8.h"
#include "plan/rank_environment.h"

namespace autodist::plan {
namespace {

void SetReach(const spec::Node& node, const Input& input, v1::NodePlan& planned) {
  if (node.chief) {
    planned.mutable_reach()->mutable_local();
    planned.set_inherit_environment(true);
    return;
  }
  const spec::SshGroup& group = input.spec.ssh.at(node.ssh_config);
  *planned.mutable_reach()->mutable_ssh() =
      MakeSshReach(node, group, input.address_of.at(node.address), input.person);
  planned.set_activation(group.python_venv);
  for (const auto& [name, value] : group.shared_envs) {
    v1::EnvironmentVariable& variable = *planned.add_shared_envs();
    variable.set_name(name);
    variable.set_value(value);
  }
}

bool TakesPart(const spec::Node& node, const Input& input) {
  return input.members.empty() || std::ranges::count(input.members, node.address) > 0;
}

Status CheckCommand(const std::vector<std::string>& command) {
  if (!command.empty() && command[0].empty()) {
    return Error(StatusCode::kInvalidArgument, "no program to run was given after '--'");
  }
  for (size_t i = 0; i < command.size(); ++i) {
    if (!base::IsUtf8(command[i])) {
      return Error(StatusCode::kInvalidArgument,
                   "argument " + std::to_string(i) + " of the program is not valid UTF-8");
    }
  }
  return OkStatus();
}

}  // namespace

Result<v1::LaunchPlan> MakePlan(const Input& input) {
  AD_RETURN_IF_ERROR(CheckCommand(input.command));

  std::vector<const spec::Node*> ordered = {&input.spec.chief()};
  for (const spec::Node& node : input.spec.nodes) {
    if (!node.chief && TakesPart(node, input)) ordered.push_back(&node);
  }

  v1::LaunchPlan plan;
  plan.set_job_id(input.job_id);
  plan.set_working_directory(input.person.working_directory);
  plan.set_master_port(input.master_port);
  plan.set_restart_count(input.restart_count);
  plan.set_max_restarts(input.max_restarts);
  for (const std::string& path : input.spec.shared_paths) plan.add_shared_paths(path);
  uint32_t world_size = 0;
  for (const spec::Node* node : ordered) {
    v1::NodePlan& planned = *plan.add_nodes();
    planned.set_node_rank(static_cast<uint32_t>(plan.nodes_size() - 1));
    planned.set_address(node->address);
    planned.set_data_address(input.address_of.at(node->address).data);
    planned.set_interface(node->interface);
    SetReach(*node, input, planned);
    world_size += static_cast<uint32_t>((node->gpus.empty() ? node->cpus : node->gpus).size());
  }
  plan.set_world_size(world_size);

  uint32_t rank = 0;
  for (int n = 0; n < plan.nodes_size(); ++n) {
    const spec::Node& node = *ordered[static_cast<size_t>(n)];
    v1::NodePlan& planned = *plan.mutable_nodes(n);
    const bool on_gpu = !node.gpus.empty();
    const std::vector<uint32_t>& devices = on_gpu ? node.gpus : node.cpus;
    const auto local_world_size = static_cast<uint32_t>(devices.size());
    SetNodeEnvironment(local_world_size, planned);
    for (uint32_t local_rank = 0; local_rank < local_world_size; ++local_rank, ++rank) {
      v1::RankPlan& ranked = *planned.add_ranks();
      ranked.set_rank(rank);
      ranked.set_local_rank(local_rank);
      ranked.mutable_device()->set_kind(on_gpu ? v1::DEVICE_KIND_GPU : v1::DEVICE_KIND_CPU);
      ranked.mutable_device()->set_index(devices[local_rank]);
      for (const std::string& argument : input.command) ranked.add_argv(argument);
      SetRankEnvironment(
          {&plan, &planned, rank, local_rank, local_world_size, node.gpus, input.master_port},
          ranked);
    }
  }
  return plan;
}

}  // namespace autodist::plan
