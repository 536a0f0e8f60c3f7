// Options for connecting to nodes and running their agents.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autodist/v1/job_request.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/duration.h"
#include "launch/launch_progress.h"
#include "reach/connector.h"
#include "transfer/folder_sync.h"

namespace autodist::launch {

// The sampling interval of each node (0: never): longer than requested with more than 250 nodes,
// because each sample costs the chief time.
inline std::chrono::milliseconds SampleInterval(const v1::JobRequest& request, int nodes) {
  using std::chrono::milliseconds;
  constexpr milliseconds kOfEachNode{8};  // 125 samples a second
  constexpr milliseconds kLongest{16'000};
  const milliseconds wanted = base::ToMilliseconds(request.sample_interval());
  return wanted.count() == 0 ? wanted : std::max(wanted, std::min(nodes * kOfEachNode, kLongest));
}

// The interval at which the chief renews each node's lease; longer with more than 1,000 nodes. A
// lease begins up to two intervals before the last renewal that arrived.
inline std::chrono::milliseconds RenewalInterval(std::chrono::milliseconds lease, int nodes) {
  using std::chrono::milliseconds;
  constexpr int kRenewalsPerLease = 8;
  constexpr int kFewestPerLease = 4;
  constexpr milliseconds kLongEnough{4'000};
  constexpr milliseconds kOfEachNode{4};  // 250 a second, because each costs the chief time
  return std::min(lease / kFewestPerLease,
                  std::max(std::min(kLongEnough, lease / kRenewalsPerLease), nodes * kOfEachNode));
}

struct LaunchOptions {
  v1::JobRequest request;
  std::shared_ptr<reach::Connector> connector;
  std::optional<v1::ProbeRequest> probe;             // what to examine on every node
  std::optional<v1::PmixWorld> pmix;                 // of the first attempt
  std::optional<v1::CheckpointRequest> checkpoints;  // of the first attempt
  // Copies the working directory to the nodes reached by SSH; null: no copy.
  std::shared_ptr<transfer::FolderSync> sync;
  bool prepare = true;  // false: for nodes that run no ranks
  // By the node's rank in the plan; null: progress is not needed.
  std::shared_ptr<LaunchProgress> progress;
  // Of each node's agent (rpc/bootstrap_lines.h); null: any, because the agent never reconnects.
  std::function<std::string(uint32_t node_rank)> greeting;

  // The time without messages from the chief after which a node ends its ranks.
  std::chrono::milliseconds lease() const { return base::ToMilliseconds(request.lease()); }
  // The time between the stop signal and SIGKILL.
  std::chrono::milliseconds grace() const { return base::ToMilliseconds(request.grace()); }
  // Whether ranks may start elsewhere instead of those of a lost node. If so, these get SIGKILL at
  // the end of the lease, else they have the grace period then.
  bool replaceable() const { return request.min_nodes() > 0 || request.spares() > 0; }
};

}  // namespace autodist::launch
