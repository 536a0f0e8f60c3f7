// The resource spec: which machines take part in a job, with which devices, and how to reach them.
//
// The format is AutoDist's (see docs/resource_spec.md for every key). These are plain values,
// already checked: a ResourceSpec that exists is consistent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "base/listen_address.h"

namespace autodist::spec {

// Names and values, in file order, unexpanded.
using SharedEnvs = std::vector<std::pair<std::string, std::string>>;

// A named way to log in, shared by the nodes that name it. What is left out is taken from the
// user's OpenSSH configuration, then from OpenSSH's defaults.
struct SshGroup {
  std::string key_file;          // path on the chief as written; "~" not yet expanded; empty: none
  std::string username;          // empty: none given
  std::optional<uint16_t> port;  // of nodes whose address names none
  std::string proxy_jump;        // "user@host:port", several with commas, or "none"; may be empty
  std::optional<v1::HostKeyCheck> host_key_check;
  std::string python_venv;  // shell statements, run on the node; empty: none
  SharedEnvs shared_envs;
  // "podman", "docker", "apptainer", "kubectl" or "srun" alone; or words that run what follows
  // them, in which {node} and {container} stand for the node's address and the container. Empty:
  // SSH alone.
  std::vector<std::string> via;
  std::string container;  // on the node that SSH leads to, or of the pod; empty: none given
  // Of the container that is made for a job on each node, by podman or docker, or for each rank, by
  // apptainer; empty: none is.
  std::string image;
  std::vector<std::string> run_options;  // further words of `podman run`, or `apptainer exec`, then

  // Of nodes that call in, by `via: call` or srun, which a scheduler's spec alone has.
  struct Calls {
    base::PortRange ports;              // where the chief listens
    std::string credentials_file = {};  // there: with the job's key (secure/key.h); empty: made up
    // Until they have called; a step of Slurm may have to wait for others.
    std::chrono::milliseconds limit{60'000};
  };
  std::optional<Calls> calls;

  // Whether SSH leads to a node on which a container is, or is made.
  bool InContainerBehindLogin() const {
    return !via.empty() && via[0] != "kubectl" && !BySlurm() && !PerRank() && !calls &&
           !(container.empty() && image.empty());
  }
  // Whether the nodes are those of the Slurm allocation that we are in.
  bool BySlurm() const { return via.size() == 1 && via[0] == "srun"; }
  // Whether each rank is in a container of its own, which begins and ends with it; the agent is on
  // the node.
  bool PerRank() const { return via.size() == 1 && via[0] == "apptainer"; }
  // Whether there is no SSH login at all.
  bool ByProgram() const { return !via.empty() && !InContainerBehindLogin() && !PerRank(); }
};

struct Node {
  std::string address;           // IPv4, IPv6 or host name, without brackets: the node's identity
  std::optional<uint16_t> port;  // of "[address]:port"
  std::vector<uint32_t> cpus;    // used when there are no gpus: one rank per entry
  std::vector<uint32_t> gpus;    // CUDA device ids: one rank per entry
  // Of gpus, one for each: "GPU-..." or "MIG-..." where it is named so, and its number then is its
  // place in the list; else "". Empty: all are named by their numbers.
  std::vector<std::string> gpu_uuids;
  // Of NPUs listed as gpus, in the same order: their IPv4 addresses on their own network. Empty:
  // not given.
  std::vector<std::string> device_ips;
  bool chief = false;
  std::string ssh_config;          // name of an SshGroup; empty on the chief alone
  double network_bandwidth = 1.0;  // Gbit/s
  std::string interface;           // for traffic between ranks; empty: the data address's owner
  std::string data_address;        // between ranks, where SSH uses another; empty: not given
  std::string ssh_address;         // where SSH connects to, if not to `address`; empty: not given
  // Its SSH server's public keys, each as "type base64": no other is taken. Empty: not given.
  std::vector<std::string> host_keys;
  std::string python_venv;  // empty: the group's; on the chief none
  SharedEnvs shared_envs;   // go before the group's

  // One rank for each; none where both lists were given, and are empty.
  const std::vector<uint32_t>& devices() const { return gpus.empty() ? cpus : gpus; }
};

struct ResourceSpec {
  std::vector<Node> nodes;  // in file order; one at most has chief set
  std::map<std::string, SshGroup> ssh;
  std::vector<std::string> shared_paths;  // absolute folders that are one file system on all nodes

  // Why nodes have no GPU although they were to have what there is: "no GPU found". Empty: they
  // have the devices that were asked for.
  std::string no_gpu;

  // The node on which autodist runs; null: it runs on none of them, and takes no part.
  const Node* chief() const;
  // That the node names; of the chief, which needs none, an empty one.
  const SshGroup& group_of(const Node& node) const;
};

// This machine alone, without SSH.
ResourceSpec SingleNode(std::vector<uint32_t> gpus);

}  // namespace autodist::spec
