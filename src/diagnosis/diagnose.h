// Diagnoses a job's nodes from the collected facts. Pure logic: does not contact nodes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::diagnosis {

// The facts about one node.
struct NodeEvidence {
  Status reached;                    // whether its agent answered
  v1::PrepareResponse prepared;      // the agent's answer
  int64_t clock_offset_ns = 0;       // the node's clock minus the chief's
  v1::Check step = v1::CHECK_LOGIN;  // the one that `reached` is about, if it is a failure
};

// One node's attempt to connect to another.
struct PortTrial {
  uint32_t from;  // node ranks
  uint32_t to;
  uint32_t port;
  bool rendezvous;  // the port of rank 0's rendezvous; else one that the system chose
  v1::PortTry outcome;
  // The library that announces another address than the data address to its peers, such as "Gloo",
  // and that address.
  std::string library = {};
  std::string address = {};
};

// Something outside of the program's files that each node needs.
struct NodeNeed {
  v1::Check check;
  v1::CheckResult result;  // if a node lacks it
  Status missing;          // what is then reported, with a hint
};

struct Evidence {
  const v1::LaunchPlan* plan = nullptr;
  v1::ProbeRequest probe;       // the request that every node got
  bool activated_here = false;  // autodist was started in an activated environment
  // If autodist runs on none of the nodes: the digests of the requested files on its machine, by
  // the same indices; "" for a missing file.
  std::optional<std::vector<std::string>> digests_here;
  // The same case: its machine lacks the program, too, if that is a path.
  bool lacks_program_here = false;
  std::vector<NodeEvidence> nodes;       // by node rank
  std::vector<PortTrial> trials;         // empty: not tried
  std::vector<std::string> port_issues;  // by node rank: why it opened no port; "" if it did
  // The requested file that an interpreter would run and that the chief lacks, and a similarly
  // named file that may be meant.
  std::string missing_script;
  std::string nearest_script;
  std::set<std::string> optional_modules;  // the script works without them
  std::vector<NodeNeed> needs;             // one for each of the requested paths
  Status program_to_copy;                  // why the program that --sync copies runs on no machine
  // Of the requested files, those that --sync does not copy; and for those that are links which
  // lead out of the working directory, where they lead.
  std::set<std::string> not_copied;
  std::map<std::string, std::string> leads_out;
  // The requested variables that the program's files mention.
  std::vector<std::string> mentioned_variables;
  // The result if other jobs use devices of the plan; CHECK_RESULT_UNSPECIFIED: not checked.
  v1::CheckResult busy_devices = v1::CHECK_RESULT_WARNING;
  v1::Health health = v1::HEALTH_STRICT;  // what a fault of the hardware means
  bool cpus_can_be_busy = false;          // CPUs can count as busy, although jobs may share them
  bool synced = false;                    // the chief's working directory was copied to the nodes
  bool will_sync = false;                 // a run would copy it
  bool restarts = false;                  // an attempt after the first, for which nothing is copied
  uint32_t fixed_port = 0;                // the rendezvous port that the user chose; 0: any
  bool warnings = false;                  // includes the agents' warnings
  Status logs_here;                       // whether the job's logs can be written
  // Why nodes could not count their devices, by address; a run would then start nothing.
  std::map<std::string, Status> uncounted;
};

v1::Diagnosis Diagnose(const Evidence& evidence);

// Checks only that the nodes were reached and are ready.
v1::Diagnosis DiagnoseLaunch(const Evidence& evidence);

// Checks only whether others use the plan's devices.
v1::Diagnosis DiagnoseDevices(const Evidence& evidence);

// For each node the lowest node rank on the same machine: with the same boot, network, process
// list, name and addresses. Containers, and nodes that do not report these, count as separate
// machines.
std::vector<uint32_t> MachinesOf(const Evidence& evidence);

// Whether the node's plan has a GPU.
bool HasGpus(const v1::NodePlan& node);

// Whether the address that other ranks use for the node belongs to an interface of the node.
bool HasDataAddress(const v1::NodePlan& plan, const v1::NodeInfo& facts);

// Whether a run would fail.
bool IsBad(const v1::Diagnosis& diagnosis);

// Hints for a node that reports no address between ranks, and for two that report the same one.
std::string HintOfNoDataAddress();
std::string HintOfSameDataAddress();

}  // namespace autodist::diagnosis
