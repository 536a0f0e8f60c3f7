// How nodes are reached and their agents run: the defaults of `autodist run`.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "autodist/v1/plan.pb.h"
#include "launch/folder_sync.h"
#include "launch/launch_progress.h"
#include "reach/logins.h"

namespace autodist::launch {

// How often each node sends a sample, where that is wanted as often as `wanted` (0: never): of
// more than 250 nodes less often, as each sample takes the chief some time.
inline std::chrono::milliseconds SampleInterval(std::chrono::milliseconds wanted, int nodes) {
  using std::chrono::milliseconds;
  constexpr milliseconds kOfEachNode{8};  // 125 samples a second
  constexpr milliseconds kLongest{16'000};
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
  std::string agent_path;  // of an agent on this machine; empty: the one inside autodist
  std::shared_ptr<reach::Logins> logins;
  // After which a node that hears nothing from the chief ends its ranks.
  std::chrono::milliseconds lease{60'000};
  // Between the stop signal and SIGKILL.
  std::chrono::milliseconds grace{30'000};
  uint32_t fan_out = 32;                       // nodes that are being reached at the same time
  std::optional<v1::Examination> examination;  // what to look at on every node
  std::optional<v1::PmixWorld> pmix;           // of the first attempt
  // Of the working directory to the nodes reached by SSH; null: none.
  std::shared_ptr<FolderSync> sync;
  // How long a node's login shell and its agent may take to start, and then the activation of the
  // ranks' environment. None: their defaults.
  std::optional<std::chrono::milliseconds> start_timeout;
  // How long nodes that are still booting are tried again, after the start.
  std::chrono::milliseconds wait_for_nodes{0};
  uint64_t spool_limit = uint64_t{1} << 30;  // bytes per rank
  int stop_signal = 15;                      // SIGTERM
  std::chrono::milliseconds sample{2'000};   // see SampleInterval
  // By the node's rank in the plan; null: nobody wants to know.
  std::shared_ptr<LaunchProgress> progress;
  // Of each node's agent (rpc/bootstrap_lines.h); null: any will do, as no agent is met twice.
  std::function<std::string(uint32_t node_rank)> greeting;
};

}  // namespace autodist::launch
