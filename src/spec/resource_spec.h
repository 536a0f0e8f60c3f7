// The resource spec: which machines take part in a job, with which devices, and how to reach them.
//
// The format is AutoDist's (see docs/resource_spec.md for every key). These are plain values,
// already checked: a ResourceSpec that exists is consistent.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace autodist::spec {

// A named way to log in, shared by the nodes that name it.
struct SshGroup {
  std::string key_file;  // path on the chief as written; "~" not yet expanded
  std::string username;  // empty: the user who runs autodist
  uint16_t port = 22;
  std::string python_venv;  // shell statements, run on the node; empty: none
  std::vector<std::pair<std::string, std::string>> shared_envs;  // in file order, unexpanded
};

struct Node {
  std::string address;         // IPv4, IPv6 or host name: the node's identity
  std::vector<uint32_t> cpus;  // used when there are no gpus: one rank per entry; never empty
  std::vector<uint32_t> gpus;  // CUDA device ids: one rank per entry
  bool chief = false;
  std::string ssh_config;          // name of an SshGroup; empty on a chief without one
  double network_bandwidth = 1.0;  // Gbit/s
};

struct ResourceSpec {
  std::vector<Node> nodes;  // in file order; exactly one has chief set
  std::map<std::string, SshGroup> ssh;

  const Node& chief() const;
};

// This machine alone, without SSH.
ResourceSpec SingleNode(std::vector<uint32_t> gpus);

}  // namespace autodist::spec
