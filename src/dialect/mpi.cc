// MPI programs. Started once per device, they find each other through the PMIx servers of the
// agents. mpirun, started once per job, reaches the nodes through the agents: a program that waits
// on each of them for what mpirun would run there by ssh. The names are Open MPI's, of version 4
// (OMPI_MCA_) and 5 (PRTE_MCA_).
#include "dialect/world.h"

namespace autodist::dialect {
namespace {

constexpr const char* kInterfaceVariables[] = {
    "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include", "PRTE_MCA_oob_tcp_if_include"};

void SetMpiVariables(const Process&, const SetVariable&) {}  // the agents do

std::string HostFile(const v1::LaunchPlan& plan) {
  std::string text;
  for (const v1::NodePlan& node : plan.nodes()) {
    text += node.data_address() + " slots=" + std::to_string(node.devices_size()) + "\n";
  }
  return text;
}

void AddVariable(google::protobuf::RepeatedPtrField<v1::EnvironmentVariable>& variables,
                 const char* name, const char* value) {
  v1::EnvironmentVariable& variable = *variables.Add();
  variable.set_name(name);
  variable.set_value(value);
}

void ServeMpirun(v1::LaunchPlan& plan) {
  v1::NodePlan& chief = *plan.mutable_nodes(0);
  for (const char* variable :
       {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}) {
    v1::PlannedFile& file = *chief.add_files();
    file.set_name("hostfile");
    file.set_content(HostFile(plan));
    file.set_variable(variable);
  }
  for (const char* variable : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}) {
    AddVariable(*chief.mutable_agent_variables(), variable, "remote-shell");
  }
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    if (node.node_rank() == 0) continue;
    v1::RankPlan& waiting = AddAuxiliary(plan, node, "what mpirun starts");
    waiting.set_by_agent(true);
    waiting.add_argv("remote-shell-server");
    waiting.add_argv(node.data_address());
  }
}

void ExtendMpi(v1::LaunchPlan& plan) {
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (const char* name : kInterfaceVariables) {
      AddVariable(*node.mutable_interface_variables(), name, "");
    }
  }
  if (PerDevice(plan)) {
    plan.set_pmix(true);
  } else {
    ServeMpirun(plan);
  }
}

}  // namespace

const Dialect kMpi = {
    "mpi",
    "Open MPI programs, without mpirun; --per job: mpirun itself",
    {v1::PROGRAM_KIND_PER_DEVICE, v1::PROGRAM_KIND_PER_JOB},
    /*uses_master_port=*/false,
    SetMpiVariables,
    nullptr,
    ExtendMpi,
};

}  // namespace autodist::dialect
