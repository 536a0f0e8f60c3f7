// The pods of a JobSet that `autodist submit --kubernetes` has made, as their variables tell of
// them (manifest).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "autodist/status.h"
#include "spec/resource_spec.h"

namespace autodist::kubernetes {

// The pod that we are in.
struct KubernetesPod {
  bool chief = false;
  std::string node;           // "chief", "worker-2"
  uint32_t nodes = 1;         // of the job
  uint32_t gpus = 0;          // of each; 0: it has ranks on CPUs
  uint32_t ranks = 1;         // on CPUs
  std::string chief_address;  // where the others call it: a name and a port
  uint16_t port = 0;          // of it
};

// kInvalidArgument: this is no such pod.
Result<KubernetesPod> ThisPod();

// What the pod of the chief is called.
inline constexpr char kChief[] = "chief";

// Where a key is mounted (secure/key.h): the job's in the chief's pod, its own in any other.
inline constexpr char kKeyFile[] = "/etc/autodist/key";

// This process becomes the agent that calls the chief (agent/life/connect_back) from this pod,
// which is not the chief's, for as long as `patience` when nobody is there. `agent_path`: as of
// transfer::NodeProgram. Returns only what has kept it from that.
Status BecomeCallbackClient(const KubernetesPod& pod, const std::string& agent_path,
                            std::chrono::seconds patience);

// All nodes; the chief is the pod that we are in, with the address under which others reach it.
Result<spec::ResourceSpec> KubernetesPods(const KubernetesPod& chief);

}  // namespace autodist::kubernetes
