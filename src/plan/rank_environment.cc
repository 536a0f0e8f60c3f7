#include "plan/rank_environment.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <string_view>

#include "base/quantity.h"
#include "framework/world.h"
#include "plan/command_argv.h"

namespace autodist::plan {
namespace {

// From an outer launcher, these would make a framework believe that it was started by it.
constexpr const char* kInherited[] = {
    "AUTODIST_*",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "LOCAL_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_*",
    "CROSS_RANK",
    "CROSS_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_*",
    "PET_*",
    "OMPI_COMM_WORLD_*",
    "OMPI_UNIVERSE_SIZE",
    "OMPI_COMMAND",
    "OMPI_MCA_orte_*",
    "OMPI_MCA_ess*",
    "PMIX_*",
    "PMI_*",
    "PRTE_*",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_NTASKS*",
    "SLURM_NPROCS",
    "SLURM_NNODES",
    "SLURM_GTIDS",
    "SLURM_TASK_PID",
    "SLURM_STEP*",
    "SLURM_SRUN_*",
    "SLURM_CPU_BIND*",
    "SLURM_TASKS_PER_NODE",
    "PADDLE_TRAINER*",
    "PADDLE_CURRENT_ENDPOINT",
    "PADDLE_MASTER",
    "PADDLE_RANK*",
    "PADDLE_GLOBAL_*",
    "PADDLE_LOCAL_*",
    "PADDLE_NNODES",
    "PADDLE_NPROC_PER_NODE",
    "PADDLE_JOB_ID",
    "POD_IP",
    "TRAINER_PORTS_NUM",
    "DISTRIBUTED_TRAINER_ENDPOINTS",
    "FLAGS_selected_gpus",
    "MS_ROLE",
    "MS_NODE_ID",
    "MS_WORKER_NUM",
    "MS_WORKER_IP",
    "MS_SCHED_*",
    "RANK_TABLE_FILE",
    "MINDSPORE_HCCL_CONFIG_PATH",
    "RANK_ID",
    "RANK_SIZE",
    "DEVICE_ID",
    "DEVICE_NUM",
    "TF_CONFIG",
    "JAX_COORDINATOR_*",
    "JAX_NUM_PROCESSES",
    "JAX_PROCESS_ID",
    "JAX_LOCAL_DEVICE_IDS",
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "HOROVOD_LOCAL_*",
    "HOROVOD_CROSS_*",
    "HOROVOD_GLOO_RENDEZVOUS_*",
    "HOROVOD_GLOO_IFACE",
    "HOROVOD_HOSTNAME",
};

// Variables that bash itself sets during an activation.
constexpr const char* kOfBash[] = {"_", "SHLVL", "OLDPWD"};

// Returns the whole list of the node, not one device: programs call set_device(LOCAL_RANK).
std::string VisibleGpus(const v1::NodePlan& node) {
  std::vector<std::string> gpus;
  for (const v1::Device& device : node.devices()) {
    if (device.kind() == v1::DEVICE_KIND_GPU) gpus.push_back(framework::DeviceName(device));
  }
  return absl::StrJoin(gpus, ",");
}

// Turns on PyTorch's flight recorder of NCCL's collectives, with files among the job's, and a pipe
// through which the agent requests a dump (agent/stacks/flight_recorder.h). A process group that
// cannot create the pipe fails, as in a container that a script starts; so only for Python itself.
void SetFlightRecorder(const std::vector<std::string>& command, v1::NodePlan& node) {
  constexpr char kRecord[] = "{files}/flight-recorder.";
  v1::SetVariable& size = framework::AddDefault(node, "TORCH_FR_BUFFER_SIZE");
  size.add_unless("TORCH_NCCL_TRACE_BUFFER_SIZE");
  size.set_literal("2000");
  v1::SetVariable& file = framework::AddDefault(node, "TORCH_FR_DUMP_TEMP_FILE");
  file.add_unless("TORCH_NCCL_DEBUG_INFO_TEMP_FILE");
  file.set_on_node(kRecord);
  // A thread that holds Python's lock would prevent the dump; py-spy shows stacks instead.
  framework::AddDefault(node, "TORCH_INCLUDE_STACK_TRACE").set_literal("0");
  if (command.empty() || !BaseName(command[0]).starts_with("python")) return;
  framework::AddDefault(node, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE").set_on_node(kRecord);
}

void SetDefaults(const Input& input, v1::NodePlan& node) {
  if (!VisibleGpus(node).empty()) {
    // Jobs that share a node would share NCCL's default port, and so their answers.
    framework::AddDefault(node, "NCCL_RAS_ADDR").set_on_node("{free_address}");
    // The names identify its threads, which busy-wait for data and do no computation.
    framework::AddDefault(node, "NCCL_SET_THREAD_NAME").set_literal("1");
    SetFlightRecorder(input.command, node);
  }
  // For NCCL "=" means exactly this name.
  framework::AddDefault(node, "NCCL_SOCKET_IFNAME").set_on_node("={interface}");
  framework::AddDefault(node, "GLOO_SOCKET_IFNAME").set_on_node("{interface}");
  framework::AddDefault(node, "TP_SOCKET_IFNAME").set_on_node("{interface}");
  framework::AddDefault(node, "TORCH_NCCL_ASYNC_ERROR_HANDLING").set_literal("1");
  // Python would write a page at a time to a pipe: nothing for minutes, and not the last lines of a
  // rank that is killed.
  framework::AddDefault(node, "PYTHONUNBUFFERED").set_literal("1");
  // Several ranks with a thread per core each would compete for the cores.
  if (input.request.per() == v1::PROGRAM_KIND_PER_DEVICE && node.devices_size() > 1) {
    framework::AddDefault(node, "OMP_NUM_THREADS").set_literal("1");
  }
}

constexpr char kAddresses[] = "AUTODIST_NODE_ADDRESSES";

using Variables = google::protobuf::RepeatedPtrField<v1::EnvironmentVariable>;

auto Find(const std::string& name, auto& variables) {
  return std::ranges::find(variables, name, &v1::EnvironmentVariable::name);
}

// Frameworks override earlier values.
void SetVariable(const std::string& name, const std::string& value, Variables& variables) {
  const auto known = Find(name, variables);
  v1::EnvironmentVariable& variable = known == variables.end() ? *variables.Add() : *known;
  variable.set_name(name);
  variable.set_value(value);
}

// Removes the variable if it exists.
void Remove(const std::string& name, Variables& variables) {
  const auto known = Find(name, variables);
  if (known != variables.end()) variables.erase(known);
}

Status CheckLengths(const Variables& variables, const v1::LaunchPlan& plan) {
  for (const v1::EnvironmentVariable& variable : variables) {
    const size_t length = variable.name().size() + variable.value().size();
    if (length <= kMaxVariableLength) continue;
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              "on " + base::Count(static_cast<size_t>(plan.nodes_size()), "node") + " " +
                  variable.name() + " would have " + std::to_string(length) +
                  " bytes, and Linux lets a variable have " + std::to_string(kMaxVariableLength)),
        "use fewer nodes, fewer devices of each, or a framework that needs no such list");
  }
  return OkStatus();
}

bool IsAmong(const Variables& variables, const std::string& name, const std::string& value) {
  const auto known = Find(name, variables);
  return known != variables.end() && known->value() == value;
}

// Returns the variables of a process in addition to `shared`: those of autodist, and those of the
// frameworks or, for an auxiliary process, of the framework that added it.
Result<Variables> FindVariables(const framework::Process& process, const std::string& addresses,
                                const Frameworks& frameworks, const Variables& shared) {
  Variables variables;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (IsAmong(shared, name, value)) {
      Remove(name, variables);
    } else {
      SetVariable(name, value, variables);
    }
  };
  SetRankEnvironment(process, addresses, set);
  for (const framework::Framework* framework : frameworks) {
    framework->set_variables(process, set);
    AD_RETURN_IF_ERROR(
        Annotate(CheckLengths(variables, process.plan), FrameworkCalled(*framework)));
  }
  return variables;
}

void Replace(const std::string& value, const std::string& by, Variables& variables) {
  if (value.empty()) return;
  for (v1::EnvironmentVariable& variable : variables) {
    if (variable.value() == value) variable.set_value(by);
  }
}

// Removes from `shared` what the process does not have, or has with another value.
void KeepAlike(const framework::Process& process, const std::string& addresses,
               const Frameworks& frameworks, Variables& shared) {
  std::vector<bool> alike(static_cast<size_t>(shared.size()));
  const auto compare = [&](const std::string& name, const std::string& value) {
    const auto known = Find(name, shared);
    if (known == shared.end()) return;
    alike[static_cast<size_t>(known - shared.begin())] = known->value() == value;
  };
  SetRankEnvironment(process, addresses, compare);
  for (const framework::Framework* framework : frameworks)
    framework->set_variables(process, compare);
  for (int i = shared.size(); i-- > 0;) {
    if (!alike[static_cast<size_t>(i)]) shared.DeleteSubrange(i, 1);
  }
}

// Moves variables that are equal in all processes of the program to the plan. This comes before
// processes get their variables, because all variables of all processes would not fit into memory.
Status ShareVariables(const std::string& addresses, const Frameworks& frameworks,
                      v1::LaunchPlan& plan) {
  Variables shared;
  size_t processes = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      if (rank.auxiliary()) continue;
      if (++processes == 1) {
        AD_ASSIGN_OR_RETURN(shared, FindVariables({plan, node, rank}, addresses, frameworks, {}));
      } else {
        KeepAlike({plan, node, rank}, addresses, frameworks, shared);
      }
    }
  }
  if (processes > 1) plan.mutable_environment()->Swap(&shared);
  return OkStatus();
}

struct Placeholder {
  const char* name;
  std::string (*value)(const v1::LaunchPlan&, const v1::NodePlan&, const v1::RankPlan&);
  v1::ProgramKind narrowest;  // it has no value for kinds that start fewer processes
};

const Placeholder kPlaceholders[] = {
    {"rank", [](auto&, auto&, auto& rank) { return std::to_string(rank.rank()); },
     v1::PROGRAM_KIND_PER_DEVICE},
    {"local_rank", [](auto&, auto&, auto& rank) { return std::to_string(rank.local_rank()); },
     v1::PROGRAM_KIND_PER_DEVICE},
    {"node_rank", [](auto&, auto& node, auto&) { return std::to_string(node.node_rank()); },
     v1::PROGRAM_KIND_PER_NODE},
    {"local_world_size",
     [](auto&, auto& node, auto&) { return std::to_string(node.devices_size()); },
     v1::PROGRAM_KIND_PER_NODE},
    {"world_size", [](auto& plan, auto&, auto&) { return std::to_string(plan.world_size()); },
     v1::PROGRAM_KIND_PER_JOB},
    {"node_count", [](auto& plan, auto&, auto&) { return std::to_string(plan.nodes_size()); },
     v1::PROGRAM_KIND_PER_JOB},
    {"master_addr", [](auto& plan, auto&, auto&) { return plan.nodes(0).data_address(); },
     v1::PROGRAM_KIND_PER_JOB},
    {"master_port", [](auto& plan, auto&, auto&) { return std::to_string(plan.master_port()); },
     v1::PROGRAM_KIND_PER_JOB},
};

// Returns the placeholder whose name and closing brace `text` begins with.
const Placeholder* NamedAt(std::string_view text) {
  for (const Placeholder& placeholder : kPlaceholders) {
    const std::string_view name = placeholder.name;
    if (text.starts_with(name) && text.substr(name.size()).starts_with('}')) return &placeholder;
  }
  return nullptr;
}

}  // namespace

bool FitsAddresses(const std::string& addresses) {
  return sizeof kAddresses + addresses.size() <= kMaxVariableLength;
}

void SetRankEnvironment(const framework::Process& process, const std::string& addresses,
                        const framework::SetVariable& set) {
  const auto& [plan, node, rank] = process;
  const std::string gpus = VisibleGpus(node);
  set("AUTODIST_JOB_ID", plan.job_id());
  if (plan.program_kind() == v1::PROGRAM_KIND_PER_DEVICE && !rank.auxiliary()) {
    set("AUTODIST_RANK", std::to_string(rank.rank()));
    set("AUTODIST_LOCAL_RANK", std::to_string(rank.local_rank()));
  }
  set("AUTODIST_WORLD_SIZE", std::to_string(plan.world_size()));
  set("AUTODIST_LOCAL_WORLD_SIZE", std::to_string(node.devices_size()));
  set("AUTODIST_NODE_RANK", std::to_string(node.node_rank()));
  set("AUTODIST_NODE_COUNT", std::to_string(plan.nodes_size()));
  set("AUTODIST_NODE_ADDRESS", node.data_address());
  if (!addresses.empty()) set(kAddresses, addresses);
  set("AUTODIST_CHIEF_ADDRESS", plan.nodes(0).data_address());
  set("AUTODIST_RESTART_COUNT", std::to_string(plan.restart_count()));
  set("AUTODIST_DEVICE", gpus.empty() ? "cpu" : "gpu");
  // Schedulers and stores use no GPU; the agent's own programs here start ranks.
  set("CUDA_VISIBLE_DEVICES", rank.auxiliary() && !rank.by_agent() ? "" : gpus);
}

void SetNodeEnvironment(const Input& input, spec::Node node, v1::NodePlan& planned) {
  const spec::SshGroup& group = input.spec.group_of(node);
  spec::TakeEnvironment(group, node);
  // A container has the environment of the image.
  if (!node.chief && group.via.empty()) planned.add_environment()->mutable_clean_login();
  if (!node.python_venv.empty()) planned.add_environment()->set_activate(node.python_venv);
  v1::RemoveVariables& removed = *planned.add_environment()->mutable_remove();
  for (const char* name : kInherited) removed.add_names(name);
  for (const char* name : kOfBash) {
    if (!node.chief || !node.python_venv.empty()) removed.add_names(name);
  }
  for (const auto& [name, value] : node.shared_envs) {
    v1::SetVariable& variable = framework::AddStep(planned, name);
    variable.set_expanded(value);
    variable.set_given(true);
  }
  for (const Variable& given : input.variables) {
    v1::SetVariable& variable = framework::AddStep(planned, given.name);
    variable.set_literal(given.value);
    variable.set_given(true);
    variable.set_secret(given.secret);
  }
  SetDefaults(input, planned);
  framework::AddStep(planned, "PWD").set_on_node("{working_directory}");
  framework::AddStep(planned, "AUTODIST_AGENT_SOCKET").set_on_node("{agent_socket}");
}

void SetNcclDebug(const std::string& level, v1::LaunchPlan& plan) {
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      framework::AddVariable(rank, "NCCL_DEBUG", level);
      // The path reopens the rank's pipe, so the lines are kept like all its output.
      if (level == "INFO" || level == "TRACE") {
        framework::AddVariable(rank, "NCCL_DEBUG_FILE", "/dev/stderr");
      }
    }
  }
}

std::string FrameworkCalled(const framework::Framework& framework) {
  return std::string("framework '") + framework.name + "'";
}

Status SetProcessVariables(const Frameworks& frameworks, const OwnerOf& owner,
                           v1::LaunchPlan& plan) {
  const std::string addresses = framework::DataAddresses(plan);
  // For many nodes they are too long to be copied for each process.
  const std::string stand_in(FitsAddresses(addresses) ? 1 : 0, '\x01');
  AD_RETURN_IF_ERROR(ShareVariables(stand_in, frameworks, plan));
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (v1::RankPlan& rank : *node.mutable_ranks()) {
      const framework::Process process = {plan, node, rank};
      AD_ASSIGN_OR_RETURN(*rank.mutable_environment(),
                          rank.auxiliary()
                              ? FindVariables(process, stand_in, {owner.at(rank.rank())}, {})
                              : FindVariables(process, stand_in, frameworks, plan.environment()));
      Replace(stand_in, addresses, *rank.mutable_environment());
    }
  }
  Replace(stand_in, addresses, *plan.mutable_environment());
  return OkStatus();
}

Result<std::string> FillIn(const std::string& argument, const v1::LaunchPlan& plan,
                           const v1::NodePlan& node, const v1::RankPlan& rank) {
  std::string filled;
  const std::string_view text = argument;
  for (size_t i = 0; i < text.size();) {
    const bool escaped = text.substr(i).starts_with("{{");
    const size_t begin = i + (escaped ? 2 : 1);
    const Placeholder* found =
        text[i] == '{' && begin < text.size() ? NamedAt(text.substr(begin)) : nullptr;
    if (!found) {
      filled += text[i++];
      continue;
    }
    const std::string name = std::string("{") + found->name + "}";
    i = begin + name.size() - 1;
    if (escaped) {
      filled += name;
      if (text.substr(i).starts_with('}')) ++i;
      continue;
    }
    if (plan.program_kind() > found->narrowest) {
      return WithRemedy(
          Error(StatusCode::kInvalidArgument,
                "argument '" + argument + "': " + name + " has no value for a program that is " +
                    (plan.program_kind() == v1::PROGRAM_KIND_PER_NODE ? "started once per node"
                                                                      : "started once per job")),
          "write {" + name + "} for literal braces");
    }
    filled += found->value(plan, node, rank);
  }
  return filled;
}

}  // namespace autodist::plan
