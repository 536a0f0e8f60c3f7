// What the facts about a job's nodes mean for it. Pure logic: nothing here reaches a node.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/diagnosis.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::diagnosis {

// What was found out about one node.
struct NodeEvidence {
  Status reached;                // whether its agent answered
  v1::PrepareResponse prepared;  // what the agent said
  int64_t clock_offset_ns = 0;   // its clock less the chief's
};

// One node's try to connect to another.
struct PortTrial {
  uint32_t from;  // node ranks
  uint32_t to;
  uint32_t port;
  bool rendezvous;  // the port of rank 0's rendezvous; else one that the system chose
  v1::PortTry outcome;
  // Of what ranks of this library announce there, where it is not the data address: "Gloo".
  std::string library = {};
  std::string address = {};
};

struct Evidence {
  const v1::LaunchPlan* plan = nullptr;
  v1::ProbeRequest probe;       // what was asked of every node
  bool activated_here = false;  // autodist was started in an activated environment
  // Of the files that were asked for, by the same numbers, where autodist runs on none of the
  // nodes: their digests on its machine; "" for one that it does not have.
  std::optional<std::vector<std::string>> digests_here;
  std::vector<NodeEvidence> nodes;       // by node rank
  std::vector<PortTrial> trials;         // empty: not tried
  std::vector<std::string> port_issues;  // by node rank: why it opened no port; "" if it did
  // One of the files asked for, which an interpreter is to run and the chief does not have; the one
  // beside it that may be meant.
  std::string missing_script;
  std::string nearest_script;
  std::set<std::string> optional_modules;  // that the script does without
  // Of the variables asked for, those that the program's files mention.
  std::vector<std::string> mentioned_variables;
  // What it means that others have devices of the plan; CHECK_RESULT_UNSPECIFIED: it is not looked
  // at.
  v1::CheckResult busy_devices = v1::CHECK_RESULT_WARNING;
  bool cpus_can_be_busy = false;  // which several jobs may well share
  bool synced = false;            // the chief's working directory was copied to the nodes
  bool will_sync = false;         // it would be
  uint32_t fixed_port = 0;        // that the user wants the rendezvous to have; 0: any
  bool warnings = false;          // what agents warn of is to be said
  Status logs_here;               // whether the job's logs can be written
};

v1::Diagnosis Diagnose(const Evidence& evidence);

// Only whether the nodes were reached and are ready.
v1::Diagnosis DiagnoseLaunch(const Evidence& evidence);

// Only who else has the plan's devices.
v1::Diagnosis DiagnoseDevices(const Evidence& evidence);

// Each node's machine, by the lowest rank of a node that is the same one: it has booted once, has
// one network, one list of processes, one name and the same addresses. Of containers, and of nodes
// that do not say, each is one of its own.
std::vector<uint32_t> MachinesOf(const Evidence& evidence);

// Whether any device that is planned there is one.
bool HasGpus(const v1::NodePlan& node);

// Whether the address under which the ranks of others reach the node is one of its interfaces'.
bool HasDataAddress(const v1::NodePlan& plan, const v1::NodeInfo& facts);

// Whether a run would fail.
bool IsBad(const v1::Diagnosis& diagnosis);

}  // namespace autodist::diagnosis
