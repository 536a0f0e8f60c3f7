// MPI programs. Started once per device, they find each other through the PMIx servers of the
// agents. mpirun, started once per job, reaches the nodes through the agents: a program that waits
// on each of them for what mpirun would run there by ssh. The names are Open MPI's, of version 4
// (OMPI_MCA_) and 5 (PRTE_MCA_).
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "base/ip_address.h"
#include "framework/world.h"

namespace autodist::framework {
namespace {

// With fewer common leading bits, the network would contain unrelated interfaces.
constexpr int kMinCommonBits = 8;

// Without mpirun, Open MPI 4 would run as a singleton.
constexpr std::pair<const char*, const char*> kWithoutMpirun[] = {
    {"OMPI_MCA_ess", "pmi"},
    {"OMPI_MCA_schizo", "^orte"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_orte_externally_bound", "1"},
};

// The variables that mpirun would set; many programs read them before MPI_Init.
void SetMpiVariables(const Process& process, const SetVariable& set) {
  if (!PerDevice(process.plan)) return;
  const std::string world = std::to_string(process.plan.world_size());
  const std::string local_rank = std::to_string(process.rank.local_rank());
  set("OMPI_COMM_WORLD_SIZE", world);
  set("OMPI_COMM_WORLD_RANK", std::to_string(process.rank.rank()));
  set("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(process.node.devices_size()));
  set("OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
  set("OMPI_COMM_WORLD_NODE_RANK", local_rank);
  set("OMPI_UNIVERSE_SIZE", world);
}

// The smallest IPv4 network with the addresses of all nodes, as "10.0.0.0/30"; "": none. Open MPI
// accepts it on every node, whatever the interface is named there.
std::string CommonNetwork(const v1::LaunchPlan& plan) {
  std::optional<uint32_t> first;
  int common = 32;
  for (const v1::NodePlan& node : plan.nodes()) {
    const auto ip = base::IpAddress::Parse(node.data_address());
    if (!ip || ip->v6) return "";
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; ++i) bits = bits << 8 | ip->bytes[i];
    if (!first) first = bits;
    common = std::min(common, std::countl_zero(bits ^ *first));
  }
  if (!first || common < kMinCommonBits) return "";
  const uint32_t network = *first & ~static_cast<uint32_t>((uint64_t{1} << (32 - common)) - 1);
  base::IpAddress ip;
  for (size_t i = 0; i < 4; ++i) ip.bytes[i] = static_cast<unsigned char>(network >> (24 - 8 * i));
  return ip.ToString() + "/" + std::to_string(common);
}

std::string HostFile(const v1::LaunchPlan& plan) {
  std::string text;
  for (const v1::NodePlan& node : plan.nodes()) {
    text += node.data_address() + " slots=" + std::to_string(node.devices_size()) + "\n";
  }
  return text;
}

// Whether an argument contains the word, including arguments of a shell command.
bool IsMentioned(const std::string& word, const v1::LaunchPlan& plan) {
  const auto& arguments = plan.nodes(0).ranks(0).argv();
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return argument.find(word) != std::string::npos;
  });
}

// Open MPI accepts either included or excluded interfaces: if the user has excluded some, includes
// none.
void KeepToNetwork(const std::string& network, v1::LaunchPlan& plan) {
  for (const std::string layer : {"btl", "oob"}) {
    const std::string excluded = layer + "_tcp_if_exclude";
    if (IsMentioned(excluded, plan)) continue;
    for (v1::NodePlan& node : *plan.mutable_nodes()) {
      // mpirun passes its variables to all nodes.
      if (!PerDevice(plan) && node.node_rank() > 0) break;
      v1::SetVariable& variable = AddDefault(node, "OMPI_MCA_" + layer + "_tcp_if_include");
      variable.set_literal(network);
      variable.add_unless("OMPI_MCA_" + excluded);
    }
  }
}

void ServeMpirun(v1::LaunchPlan& plan) {
  v1::NodePlan& chief = *plan.mutable_nodes(0);
  v1::PlannedFile& file = *chief.add_files();
  file.set_name("hostfile");
  file.set_content(HostFile(plan));
  for (const char* variable :
       {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}) {
    AddStep(chief, variable).set_on_node("{files}/" + file.name());
  }
  for (const char* variable : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}) {
    AddStep(chief, variable).set_on_node("{agent} remote-shell");
  }
  // Within an allocation, mpirun would always use the allocation's nodes and srun.
  for (const char* name : {"SLURM_JOBID", "SLURM_JOB_ID", "SLURM_NODELIST", "SLURM_JOB_NODELIST"}) {
    RemoveInherited(chief, name);
  }
  // mpirun must start each daemon itself, because other nodes lack our program at that path.
  for (const char* variable :
       {"OMPI_MCA_plm_rsh_no_tree_spawn", "PRTE_MCA_plm_ssh_no_tree_spawn"}) {
    AddDefault(chief, variable).set_literal("1");
  }
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    if (node.node_rank() == 0) continue;
    v1::RankPlan& waiting = AddAuxiliary(plan, node, "mpirun's daemon");
    waiting.set_by_agent(true);
    waiting.add_argv("remote-shell-server");
    waiting.add_argv(std::to_string(node.node_rank()));
  }
}

void ExtendMpi(v1::LaunchPlan& plan) {
  const std::string network = CommonNetwork(plan);
  if (!network.empty()) KeepToNetwork(network, plan);
  if (PerDevice(plan)) {
    plan.set_pmix(true);
    for (v1::NodePlan& node : *plan.mutable_nodes()) {
      for (const auto& [name, value] : kWithoutMpirun) {
        AddDefault(node, name).set_literal(value);
      }
    }
  } else {
    ServeMpirun(plan);
  }
}

}  // namespace

const Framework kMpi = {
    "mpi",
    "Open MPI programs, without mpirun; --per job: mpirun itself",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_JOB},
    /*uses_master_port=*/false,
    SetMpiVariables,
    nullptr,
    ExtendMpi,
};

}  // namespace autodist::framework
