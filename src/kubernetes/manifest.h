// What Kubernetes is asked for: a JobSet of kubernetes-sigs/jobset, in whose pods autodist runs,
// and what these need beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::kubernetes {

// A claim of a persistent volume, mounted in every pod.
struct ClaimedVolume {
  std::string claim;
  std::string path;
  bool read_only = false;
};

// Pods of a job: the keys of more do not fit into one Secret (1 MiB).
inline constexpr uint32_t kMaxPods = 10'000;

// "CLAIM:/path" or "CLAIM:/path:ro".
Result<ClaimedVolume> ParseVolume(const std::string& text);

// "" and 0: nothing is said of it. Texts are UTF-8.
struct KubernetesRequest {
  std::string name;  // of all objects, as ObjectName makes it
  // With which nodes call in, as secure/key.h writes them: the job's by the name of the chief's
  // pod, its own by that of each other one.
  std::map<std::string, std::string> keys;
  std::string job;  // a v1::JobRequest, as JSON
  std::string image;
  std::string autodist_image;  // from which autodist is copied; "": `image` has it in its PATH
  uint32_t nodes = 1;
  uint32_t gpus = 0;   // of each node, with a rank for each
  uint32_t ranks = 0;  // on each node where there are no GPUs
  std::string cpus;    // of each node, as Kubernetes counts them: "16", "500m"
  std::string memory;  // "64Gi"
  std::vector<ClaimedVolume> volumes;
  std::vector<std::string> env_from;  // Secrets whose entries are variables in every pod
  std::string pull_secret;            // for the images
  std::chrono::seconds grace{0};      // that ranks have to end
};

// A name for the objects of a job that its user calls so, or has given no name: a DNS label with 25
// random bits at its end, short enough for the names that Kubernetes makes of it.
std::string ObjectName(const std::string& job_name);

// The JobSet. Its pods wait until the companions are there.
std::string JobSetManifest(const KubernetesRequest& request);

// The NetworkPolicy and the Secret of the same name. `jobset_uid`: the JobSet with which they go;
// "": with none.
std::string CompanionsManifest(const KubernetesRequest& request, const std::string& jobset_uid);

}  // namespace autodist::kubernetes
