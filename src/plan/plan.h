// spec + command + options → LaunchPlan. Nothing here touches the system, and nothing is decided
// after it.
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
  bool secret = false;  // never to be shown
};

struct Input {
  v1::JobRequest request;
  spec::ResourceSpec spec;           // the nodes of the request
  std::vector<std::string> command;  // its program; empty: to look, not to run
  std::string job_id;
  User user;
  std::string working_directory;    // on the nodes: absolute, or "~/..."
  std::vector<Variable> variables;  // for all processes, on every node
  uint16_t master_port = 0;         // free on the chief's node
  uint16_t rank_port = 0;           // first of as many free ports as a node has devices

  // Nodes that take part, by their address as the spec writes it; empty: all.
  std::vector<std::string> members;
  uint32_t restart_count = 0;

  // What the process of --stdin-rank gets; the terminal's kind, TERM, is that of ours.
  v1::StdinKind stdin_kind = v1::STDIN_KIND_UNSPECIFIED;
  std::string terminal;

  // Of every node of the spec, by its address as the spec writes it.
  std::map<std::string, NodeAddress> address_of;
};

// What is planned anew, as nodes are lost, ports taken, or addresses told.
struct Replan {
  uint32_t attempt = 0;
  std::vector<std::string> members;  // nodes of the first plan, by their address
  std::map<std::string, std::string> reported_addresses;  // between ranks, by the same
};

// Node ranks: the chief first, then spec order; ranks in device order inside a node.
// kInvalidArgument: the command, or the frameworks, are wrong for the spec or for each other.
Result<v1::LaunchPlan> MakePlan(const Input& input);

}  // namespace autodist::plan
