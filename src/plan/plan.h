// spec + command + options → LaunchPlan. Pure logic without access to the system; the plan contains
// all decisions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "plan/ssh_reach.h"
#include "spec/resource_spec.h"

namespace autodist::plan {

struct Variable {
  std::string name;
  std::string value;
  bool secret = false;  // must never be shown
};

struct Input {
  v1::JobRequest request;
  spec::ResourceSpec spec;           // the nodes of the request
  std::vector<std::string> command;  // of the program; empty: an examination only
  std::string job_id;
  User user;
  std::string working_directory;    // on the nodes: absolute, or "~/..."
  std::vector<Variable> variables;  // for all processes on every node
  uint16_t master_port = 0;         // free on the chief's node
  uint16_t rank_port = 0;           // the first of as many free ports as a node has devices

  // The nodes of the job in the order of their ranks, by their address as the spec writes it;
  // empty: all.
  std::vector<std::string> members;
  uint32_t restart_count = 0;

  // The stdin of the --stdin-rank process; TERM for a terminal is that of autodist.
  v1::StdinKind stdin_kind = v1::STDIN_KIND_UNSPECIFIED;
  std::string terminal;

  // For every node of the spec, by its address as the spec writes it.
  std::map<std::string, NodeAddress> address_of;
};

// The changes to a plan after nodes were lost, ports taken, or addresses reported.
struct Replan {
  uint32_t attempt = 0;
  std::vector<std::string> members;                       // nodes of the first plan, by address
  std::map<std::string, std::string> reported_addresses;  // between ranks, by address
};

// Node ranks: as the members, or the chief first, then spec order; ranks in device order inside a
// node. kInvalidArgument: the command or the frameworks contradict the spec or each other.
Result<v1::LaunchPlan> MakePlan(const Input& input);

}  // namespace autodist::plan
