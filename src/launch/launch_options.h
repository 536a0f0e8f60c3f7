// How nodes are reached and their agents run.
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

// How often each node sends a sample (0: never): of more than 250 nodes less often than is wanted,
// as each sample takes the chief some time.
inline std::chrono::milliseconds SampleInterval(const v1::JobRequest& request, int nodes) {
  using std::chrono::milliseconds;
  constexpr milliseconds kOfEachNode{8};  // 125 samples a second
  constexpr milliseconds kLongest{16'000};
  const milliseconds wanted = base::ToMilliseconds(request.sample_interval());
  return wanted.count() == 0 ? wanted : std::max(wanted, std::min(nodes * kOfEachNode, kLongest));
}

// How often the chief renews the lease of each node: in jobs of more than 1,000 nodes less often.
inline std::chrono::milliseconds RenewalInterval(std::chrono::milliseconds lease, int nodes) {
  using std::chrono::milliseconds;
  constexpr int kRenewalsPerLease = 4;
  constexpr milliseconds kShortest{4'000};
  constexpr milliseconds kOfEachNode{4};  // 250 a second, as each takes the chief some time
  return std::min(lease / kRenewalsPerLease, std::max(kShortest, nodes * kOfEachNode));
}

struct LaunchOptions {
  v1::JobRequest request;
  std::shared_ptr<reach::Connector> connector;
  std::optional<v1::ProbeRequest> probe;  // what to look at on every node
  std::optional<v1::PmixWorld> pmix;      // of the first attempt
  // Of the working directory to the nodes reached by SSH; null: none.
  std::shared_ptr<transfer::FolderSync> sync;
  // By the node's rank in the plan; null: nobody wants to know.
  std::shared_ptr<LaunchProgress> progress;
  // Of each node's agent (rpc/bootstrap_lines.h); null: any will do, as no agent is met twice.
  std::function<std::string(uint32_t node_rank)> greeting;

  // After which a node that hears nothing from the chief ends its ranks.
  std::chrono::milliseconds lease() const { return base::ToMilliseconds(request.lease()); }
  // Between the stop signal and SIGKILL.
  std::chrono::milliseconds grace() const { return base::ToMilliseconds(request.grace()); }
};

}  // namespace autodist::launch
