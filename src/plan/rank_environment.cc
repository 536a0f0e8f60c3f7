#include "plan/rank_environment.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <vector>

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

// Skips variables that are also in `over`.
void SetSharedEnvs(const spec::SharedEnvs& envs, const spec::SharedEnvs* over, v1::NodePlan& node) {
  for (const auto& [name, value] : envs) {
    if (over && std::ranges::count(*over, name, &spec::SharedEnvs::value_type::first) > 0) continue;
    v1::SetVariable& variable = framework::AddStep(node, name);
    variable.set_expanded(value);
    variable.set_given(true);
  }
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

void SetNodeEnvironment(const Input& input, const spec::Node& node, v1::NodePlan& planned) {
  const spec::SshGroup& group = input.spec.group_of(node);
  const std::string& python_venv = node.python_venv.empty() ? group.python_venv : node.python_venv;
  // A container has the environment of the image.
  if (!node.chief && group.via.empty()) planned.add_environment()->mutable_clean_login();
  if (!python_venv.empty()) planned.add_environment()->set_activate(python_venv);
  v1::RemoveVariables& removed = *planned.add_environment()->mutable_remove();
  for (const char* name : kInherited) removed.add_names(name);
  for (const char* name : kOfBash) {
    if (!node.chief || !python_venv.empty()) removed.add_names(name);
  }
  SetSharedEnvs(group.shared_envs, &node.shared_envs, planned);
  SetSharedEnvs(node.shared_envs, nullptr, planned);
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

}  // namespace autodist::plan
