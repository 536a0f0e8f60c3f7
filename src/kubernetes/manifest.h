// Manifests for Kubernetes: a JobSet of kubernetes-sigs/jobset, in whose pods autodist runs, and
// its companion objects.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::kubernetes {

// A persistent volume claim, mounted in every pod.
struct ClaimedVolume {
  std::string claim;
  std::string path;
  bool read_only = false;
};

// The maximum number of pods of a job, because one Secret (1 MiB) must hold their keys.
inline constexpr uint32_t kMaxPods = 10'000;

// Parses "CLAIM:/path" or "CLAIM:/path:ro".
Result<ClaimedVolume> ParseVolume(const std::string& text);

// "" and 0: not specified. Texts are UTF-8.
struct KubernetesRequest {
  std::string name;  // of all objects; from ObjectName
  // The keys for connecting back, in the form of secure/key.h: the job's by the name of the chief's
  // pod, each other pod's by its name.
  std::map<std::string, std::string> keys;
  std::string job;  // a v1::JobRequest as JSON
  std::string image;
  std::string autodist_image;  // the image to copy autodist from; "": `image` has it in PATH
  uint32_t nodes = 1;
  uint32_t gpus = 0;   // per node, with a rank for each
  uint32_t ranks = 0;  // per node without GPUs
  std::string cpus;    // per node, in Kubernetes' units: "16", "500m"
  std::string memory;  // "64Gi"
  std::vector<ClaimedVolume> volumes;
  std::vector<std::string> env_from;  // Secrets that define variables in every pod
  std::string pull_secret;            // for the images
  std::chrono::seconds grace{0};      // for ranks to end
};

// Returns a name for the objects of a job with this name or none: a DNS label that ends with 25
// random bits, short enough for the names that Kubernetes derives from it.
std::string ObjectName(const std::string& job_name);

// Returns the JobSet. Its pods wait until the companions exist.
std::string JobSetManifest(const KubernetesRequest& request);

// Returns the NetworkPolicy and the Secret of the same name. `jobset_uid`: the JobSet that owns
// them; "": none.
std::string CompanionsManifest(const KubernetesRequest& request, const std::string& jobset_uid);

}  // namespace autodist::kubernetes
