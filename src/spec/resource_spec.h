// The resource spec: the machines of a job, their devices, and how to reach them.
//
// The format is AutoDist's (see docs/reference/spec.md for every key). These are plain values that
// have been checked: a ResourceSpec is always consistent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "base/listen_address.h"

namespace autodist::spec {

// Names and values, in file order, unexpanded.
using SharedEnvs = std::vector<std::pair<std::string, std::string>>;

// A named set of login settings, shared by the nodes that name it. Missing settings come from the
// user's OpenSSH configuration, then from OpenSSH's defaults.
struct SshGroup {
  std::string key_file;          // path on the chief as written; "~" not expanded; empty: not given
  std::string username;          // empty: none given
  std::optional<uint16_t> port;  // for nodes without a port in the address
  std::string proxy_jump;        // "user@host:port", several with commas, "none", or empty
  std::optional<v1::HostKeyCheck> host_key_check;
  std::string python_venv;  // shell statements, run on the node; empty: not given
  SharedEnvs shared_envs;
  // "podman", "docker", "apptainer", "kubectl" or "srun" alone; or the argv of a program that runs
  // the arguments after it, with {node} and {container} for the node's address and the container.
  // Empty: SSH alone.
  std::vector<std::string> via;
  std::string container;  // on the node that SSH leads to, or in the pod; empty: not given
  // The image of a container that podman or docker creates for a job on each node, or apptainer for
  // each rank; empty: no container is created.
  std::string image;
  std::vector<std::string> run_options;  // further arguments of `podman run`, or `apptainer exec`

  // Settings for nodes that connect back, by `via: call` or srun, which only a scheduler's spec
  // has.
  struct Calls {
    base::PortRange ports;  // where the chief listens
    // On the chief: with the job's key (secure/key.h); empty: a new one.
    std::string credentials_file = {};
    // The time until they must have connected; a step of Slurm may have to wait for others.
    std::chrono::milliseconds limit{60'000};
  };
  std::optional<Calls> calls;

  // Whether SSH leads to a node on which a container exists or is created.
  bool InContainerBehindLogin() const {
    return !via.empty() && via[0] != "kubectl" && !BySlurm() && !PerRank() && !calls &&
           !(container.empty() && image.empty());
  }
  // Whether the nodes are those of the Slurm allocation in which autodist runs.
  bool BySlurm() const { return via.size() == 1 && via[0] == "srun"; }
  // Whether each rank has a separate container, which starts and ends with it; the agent runs
  // outside, on the node.
  bool PerRank() const { return via.size() == 1 && via[0] == "apptainer"; }
  // Whether no SSH login is used at all.
  bool ByProgram() const { return !via.empty() && !InContainerBehindLogin() && !PerRank(); }
};

struct Node {
  std::string address;  // IPv4, IPv6 or host name, without brackets: the node's identity
  std::string given;    // the name in a list of hosts that was replaced by `address`; or ""
  std::optional<uint16_t> port;  // from "[address]:port"
  std::vector<uint32_t> cpus;    // used without gpus: one rank per entry
  std::vector<uint32_t> gpus;    // CUDA device ids: one rank per entry
  // One for each of gpus: "GPU-..." or "MIG-..." if the GPU is named by UUID (then its number is
  // its index in the list), else "". Empty: all are named by number.
  std::vector<std::string> gpu_uuids;
  // Why it is not known which devices there are; then the lists above are a guess, with which no
  // rank may be started. OK: they are known, or the user has given them.
  Status counted = {};
  bool reached = true;  // with `counted` that is not OK: a login succeeded
  // The IPv4 addresses of NPUs listed as gpus, in the same order, on the NPUs' network. Empty: not
  // given.
  std::vector<std::string> device_ips;
  bool chief = false;
  std::string ssh_config;          // name of an SshGroup; empty only on the chief
  double network_bandwidth = 1.0;  // Gbit/s
  std::string interface;     // for traffic between ranks; empty: the one with the data address
  std::string data_address;  // between ranks, if it differs from SSH's; empty: not given
  std::string ssh_address;   // where SSH connects to, if not to `address`; empty: not given
  // The only accepted public keys of the SSH server, each as "type base64". Empty: not given.
  std::vector<std::string> host_keys;
  std::string python_venv;  // empty: the group's; on the chief none
  SharedEnvs shared_envs;   // take precedence over the group's

  // One rank for each. Empty if both lists were given and are empty.
  const std::vector<uint32_t>& devices() const { return gpus.empty() ? cpus : gpus; }
};

struct ResourceSpec {
  std::vector<Node> nodes;  // in file order; at most one has `chief` set
  std::map<std::string, SshGroup> ssh;
  // Absolute folders that are the same file system on all nodes.
  std::vector<std::string> shared_paths;

  // Why nodes have no GPU although autodist was to use the available ones: "no GPU found". Empty:
  // they have the requested devices.
  std::string no_gpu;

  // The node on which autodist runs; null: it runs on none of them, and has no ranks.
  const Node* chief() const;
  // Returns the group that the node names; for the chief, which needs none, an empty one.
  const SshGroup& group_of(const Node& node) const;
};

// Copies python_venv and shared_envs of the group into the node, whose own take precedence. For a
// chief, which has no group.
void TakeEnvironment(const SshGroup& group, Node& node);

// Returns what logins need, without variables and statements for ranks, which may be secrets.
ResourceSpec WithoutEnvironments(ResourceSpec spec);

// Returns a spec for this machine alone, without SSH.
ResourceSpec SingleNode(std::vector<uint32_t> gpus);

}  // namespace autodist::spec
