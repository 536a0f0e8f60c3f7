#include "plan/plan.h"

#include <algorithm>
#include <set>

#include "base/ip_address.h"
#include "base/utf8.h"
#include "framework/frameworks.h"
#include "framework/world.h"
#include "plan/command_argv.h"
#include "plan/rank_environment.h"
#include "plan/ssh_reach.h"
#include "spec/scalars.h"

namespace autodist::plan {
namespace {

constexpr char kDefaultFramework[] = "torch";

bool Has(const google::protobuf::RepeatedPtrField<v1::EnvironmentVariable>& variables,
         const std::string& name) {
  return std::ranges::count(variables, name, &v1::EnvironmentVariable::name) > 0;
}

// Whether autodist sets a variable of this name in the process.
bool IsSetByUs(const std::string& name, const v1::LaunchPlan& plan, const v1::NodePlan& node,
               const v1::RankPlan& process) {
  return Has(plan.environment(), name) || Has(process.environment(), name) ||
         std::ranges::any_of(node.environment(), [&](const v1::EnvironmentStep& step) {
           return step.set().name() == name && !step.set().given() && step.set().unless().empty();
         });
}

// A rank with a wrong number would make all others wait.
Status CheckVariables(const Input& input, const v1::LaunchPlan& plan) {
  for (const Variable& given : input.variables) {
    AD_RETURN_IF_ERROR(spec::CheckVariableName(given.name));
    if (!base::IsUtf8(given.value)) {
      return Error(StatusCode::kInvalidArgument,
                   "the value of " + given.name + " is not valid UTF-8");
    }
    for (const v1::NodePlan& node : plan.nodes()) {
      for (const v1::RankPlan& rank : node.ranks()) {
        if (!IsSetByUs(given.name, plan, node, rank)) continue;
        return WithRemedy(Error(StatusCode::kInvalidArgument,
                                given.name + " is set by autodist itself, for each process"),
                          "leave it out; `autodist run --dry-run --verbose` shows the variables");
      }
    }
  }
  return OkStatus();
}

// The members in their order, or without members all nodes with devices, the chief first.
std::vector<const spec::Node*> NodesOf(const Input& input) {
  std::vector<const spec::Node*> nodes;
  std::map<std::string, const spec::Node*> by_address;
  for (const spec::Node& node : input.spec.nodes) {
    if (node.devices().empty()) continue;
    nodes.push_back(&node);
    by_address[node.address] = &node;
  }
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const spec::Node* node) { return node->chief; });
  if (input.members.empty()) return nodes;
  nodes.clear();
  for (const std::string& member : input.members) nodes.push_back(by_address.at(member));
  return nodes;
}

Status CheckCommand(const std::vector<std::string>& command, const std::string& directory) {
  if (!command.empty() && command[0].empty()) {
    return Error(StatusCode::kInvalidArgument, "no program to run was given after '--'");
  }
  for (size_t i = 0; i < command.size(); ++i) {
    if (!base::IsUtf8(command[i])) {
      return Error(StatusCode::kInvalidArgument,
                   "argument " + std::to_string(i) + " of the program is not valid UTF-8");
    }
  }
  if (!base::IsUtf8(directory)) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "the name of the working directory, " +
                                                              directory + ", is not valid UTF-8"),
                      "rename it, or start autodist elsewhere");
  }
  return OkStatus();
}

std::string RemedyFor(const KnownLauncher& launcher) {
  const std::string kind = framework::OptionOf(launcher.kind);
  if (!launcher.without) {
    return "add " + kind + "; it then reaches the nodes itself";
  }
  const std::string framework = launcher.without;
  const std::string leave_out =
      "leave it out" + (framework == kDefaultFramework ? "" : " and add --framework " + framework) +
      ": autodist starts one rank per device";
  if (!launcher.by_itself) return "add " + kind + ", or " + leave_out;
  return leave_out + "; with " + kind + " it reaches the nodes itself";
}

// A launcher that is started once for each device would start the ranks that many times.
Status CheckKind(const std::optional<KnownLauncher>& launcher, v1::ProgramKind kind) {
  if (!launcher || launcher->kind == kind) return OkStatus();
  if (launcher->by_itself && kind == v1::PROGRAM_KIND_PER_NODE) return OkStatus();
  std::string what = std::string(launcher->name) + " starts ";
  if (launcher->kind == v1::PROGRAM_KIND_PER_NODE) {
    what += "the ranks of a node itself: start it once per node";
  } else if (launcher->by_itself) {
    what += "the ranks of all nodes itself: do not start it once per device";
  } else {
    what += "the ranks of all nodes itself: start it once, on node 0";
  }
  return WithRemedy(Error(StatusCode::kInvalidArgument, what), RemedyFor(*launcher));
}

void AddDevices(const spec::Node& node, v1::NodePlan& planned) {
  const bool on_gpu = !node.gpus.empty();
  const std::vector<uint32_t>& devices = node.devices();
  for (size_t i = 0; i < devices.size(); ++i) {
    v1::Device& device = *planned.add_devices();
    device.set_kind(on_gpu ? v1::DEVICE_KIND_GPU : v1::DEVICE_KIND_CPU);
    device.set_index(devices[i]);
    if (on_gpu && i < node.gpu_uuids.size()) device.set_uuid(node.gpu_uuids[i]);
    if (i < node.device_ips.size()) device.set_ip(node.device_ips[i]);
  }
}

// Sets the nodes to which a node's routes are checked: the first node and its neighbours in a ring.
void SetPeers(v1::LaunchPlan& plan) {
  const int count = plan.nodes_size();
  for (int node = 0; node < count; ++node) {
    const std::string& own = plan.nodes(node).data_address();
    std::set<std::string> seen = {own};
    for (const int peer : {0, (node + 1) % count, (node + count - 1) % count}) {
      const std::string& address = plan.nodes(peer).data_address();
      const auto ip = base::IpAddress::Parse(address);
      if (!ip || ip->IsUnspecified() || !seen.insert(address).second) continue;
      plan.mutable_nodes(node)->add_peers(address);
    }
  }
}

v1::LaunchPlan PlanNodes(const Input& input) {
  v1::LaunchPlan plan;
  plan.set_job_id(input.job_id);
  plan.set_working_directory(input.working_directory);
  plan.set_master_port(input.master_port);
  plan.set_rank_port(input.rank_port);
  plan.set_program_kind(input.request.per());
  plan.set_restart_count(input.restart_count);
  plan.set_max_restarts(input.request.max_restarts());
  plan.set_no_gpu(input.spec.no_gpu);
  for (const std::string& path : input.spec.shared_paths) plan.add_shared_paths(path);
  const std::chrono::milliseconds start_limit = StartLimitOf(input.request);
  uint32_t world_size = 0;
  for (const spec::Node* node : NodesOf(input)) {
    v1::NodePlan& planned = *plan.add_nodes();
    planned.set_node_rank(static_cast<uint32_t>(plan.nodes_size() - 1));
    planned.set_address(node->address);
    const NodeAddress& address = input.address_of.at(node->address);
    planned.set_data_address(address.data);
    planned.set_ask_data_address(address.ask);
    planned.set_own_data_address(!node->data_address.empty());
    planned.set_interface(node->interface);
    *planned.mutable_reach() =
        MakeReach(*node, input.spec.group_of(*node), address, input.user,
                  {input.job_id, planned.node_rank(), input.working_directory}, start_limit);
    AddDevices(*node, planned);
    planned.set_gpu_affinity(!input.request.no_affinity());
    SetNodeEnvironment(input, *node, planned);
    world_size += static_cast<uint32_t>(planned.devices_size());
  }
  plan.set_world_size(world_size);
  SetPeers(plan);
  return plan;
}

v1::RankPlan& AddProcess(const char* what, uint32_t number, v1::NodePlan& node) {
  v1::RankPlan& process = *node.add_ranks();
  process.set_rank(number);
  process.set_name(what + std::to_string(number));
  return process;
}

void AddProcesses(v1::LaunchPlan& plan) {
  uint32_t next = 0;
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    if (plan.program_kind() != v1::PROGRAM_KIND_PER_DEVICE) {
      if (plan.program_kind() == v1::PROGRAM_KIND_PER_NODE || next == 0) {
        AddProcess("process ", next++, node);
      }
      continue;
    }
    uint32_t local_rank = 0;
    for (const v1::Device& device : node.devices()) {
      v1::RankPlan& rank = AddProcess("rank ", next++, node);
      rank.set_local_rank(local_rank++);
      *rank.mutable_device() = device;
    }
  }
}

// The argv before the program that creates the rank's container. Source: apptainer-exec(1), which
// mounts the home folder and /tmp by default.
std::vector<std::string> ContainerArgv(const spec::SshGroup& group, const v1::NodePlan& node,
                                       const std::string& working_directory) {
  if (!group.PerRank() || node.reach().has_local()) return {};
  std::vector<std::string> argv = {"apptainer", "exec"};
  if (node.devices(0).kind() == v1::DEVICE_KIND_GPU) argv.emplace_back("--nv");
  if (working_directory.starts_with('/')) argv.insert(argv.end(), {"--bind", working_directory});
  argv.insert(argv.end(), group.run_options.begin(), group.run_options.end());
  argv.push_back(group.image);
  return argv;
}

Status SetArguments(const Input& input, v1::LaunchPlan& plan) {
  std::map<std::string, const spec::Node*> given_at;
  for (const spec::Node& node : input.spec.nodes) given_at.emplace(node.address, &node);
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    const spec::Node& given = *given_at.at(node.address());
    const std::vector<std::string> before =
        input.command.empty()
            ? std::vector<std::string>()
            : ContainerArgv(input.spec.group_of(given), node, plan.working_directory());
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      for (const std::string& word : before) rank.add_argv(word);
      for (const std::string& argument : input.command) {
        AD_ASSIGN_OR_RETURN(*rank.add_argv(), FillIn(argument, plan, node, rank));
      }
    }
  }
  return OkStatus();
}

// A later attempt, on fewer nodes, may lack the rank.
Status SetStdin(const Input& input, v1::LaunchPlan& plan) {
  if (!input.request.has_stdin_rank()) return OkStatus();
  uint32_t count = 0;
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      if (rank.auxiliary()) continue;
      ++count;
      if (rank.rank() != input.request.stdin_rank()) continue;
      rank.set_stdin(input.stdin_kind);
      const bool given = std::ranges::count(input.variables, "TERM", &Variable::name) > 0;
      if (input.stdin_kind == v1::STDIN_KIND_TERMINAL && !given && !input.terminal.empty()) {
        framework::AddVariable(rank, "TERM", input.terminal);
      }
      return OkStatus();
    }
  }
  if (!input.members.empty()) return OkStatus();
  return Error(StatusCode::kInvalidArgument,
               "--stdin-rank " + std::to_string(input.request.stdin_rank()) + ", but there " +
                   (count == 1 ? "is one, rank 0" : "are ranks 0 to " + std::to_string(count - 1)));
}

Status ApplyFrameworks(const Frameworks& frameworks, v1::LaunchPlan& plan) {
  for (const framework::Framework* framework : frameworks) {
    if (framework->check) {
      AD_RETURN_IF_ERROR(Annotate(framework->check(plan), FrameworkCalled(*framework)));
    }
  }
  OwnerOf owner;
  for (const framework::Framework* framework : frameworks) {
    plan.add_frameworks(framework->name);
    if (framework->extend) framework->extend(plan);
    for (const v1::NodePlan& node : plan.nodes()) {
      for (const v1::RankPlan& rank : node.ranks()) {
        if (rank.auxiliary()) owner.emplace(rank.rank(), framework);
      }
    }
  }
  return SetProcessVariables(frameworks, owner, plan);
}

}  // namespace

Result<v1::LaunchPlan> MakePlan(const Input& input) {
  AD_RETURN_IF_ERROR(CheckCommand(input.command, input.working_directory));
  AD_RETURN_IF_ERROR(CheckForRanks(input.command));
  const std::optional<KnownLauncher> launcher = LauncherIn(input.command);
  const v1::JobRequest& request = input.request;
  AD_RETURN_IF_ERROR(CheckKind(launcher, request.per()));
  std::vector<std::string> names(request.framework().begin(), request.framework().end());
  if (names.empty()) names = {launcher ? launcher->framework : kDefaultFramework};
  AD_ASSIGN_OR_RETURN(const auto frameworks, framework::Choose(names, request.per()));

  v1::LaunchPlan plan = PlanNodes(input);
  AddProcesses(plan);
  AD_RETURN_IF_ERROR(SetArguments(input, plan));
  AD_RETURN_IF_ERROR(ApplyFrameworks(frameworks, plan));
  if (request.has_nccl_debug()) SetNcclDebug(request.nccl_debug(), plan);
  AD_RETURN_IF_ERROR(SetStdin(input, plan));
  AD_RETURN_IF_ERROR(CheckVariables(input, plan));
  return plan;
}

}  // namespace autodist::plan
