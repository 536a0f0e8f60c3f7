// The pods of a JobSet that `autodist submit --kubernetes` has created, as their environment
// variables describe them (manifest).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::kubernetes {

// The pod in which this process runs.
struct KubernetesPod {
  bool chief = false;
  std::string node;           // "chief", "worker-2"
  uint32_t nodes = 1;         // of the job
  uint32_t gpus = 0;          // per pod; 0: ranks run on CPUs
  uint32_t ranks = 1;         // on CPUs
  std::string chief_address;  // to which the others connect: a name and a port
  uint16_t port = 0;          // of chief_address
};

// kInvalidArgument: not in such a pod.
Result<KubernetesPod> ThisPod();

// The node name of the chief's pod.
inline constexpr char kChief[] = "chief";

// The mounted key (secure/key.h): the job's in the chief's pod, the pod's in others.
inline constexpr char kKeyFile[] = "/etc/autodist/key";

// Replaces this process with the agent, which connects to the chief from this pod
// (agent/life/connect_back), and retries for `patience`. `agent_path`: see transfer::NodeProgram.
// Returns only on failure.
Status BecomeCallbackClient(const KubernetesPod& pod, const std::string& agent_path,
                            std::chrono::seconds patience);

// Returns all nodes; the chief is this pod, with the address by which others reach it.
Result<spec::ResourceSpec> KubernetesPods(const KubernetesPod& chief);

}  // namespace autodist::kubernetes
