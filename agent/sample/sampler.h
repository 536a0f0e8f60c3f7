// Looks every few seconds at how the node, its GPUs and its ranks are, as long as ranks run.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "agent/sample/gpus.h"
#include "agent/sample/rate.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// Where the kernel tells.
struct SampleRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

// Thread-safe; no call but Stop blocks. A thread of its own looks, so that neither ranks' output
// nor what the chief says ever waits for it.
class Sampler {
 public:
  // No interval is shorter.
  static constexpr std::chrono::milliseconds kShortest{100};

  struct Plan {
    std::chrono::milliseconds interval{0};  // 0: nothing is looked at
    std::set<uint32_t> gpus;                // of this job, as nvidia-smi has them
    process::Environment environment;       // in which nvidia-smi is looked for
    std::string working_directory;
  };
  // Called on the sampler's thread; must not call back.
  struct Events {
    std::function<void(v1::NodeSample sample)> sample;
    // When the rank's output was read last.
    std::function<std::optional<SampleTime>(uint32_t rank)> last_output;
  };

  // The supervisor is not used after Stop.
  Sampler(Events events, Supervisor& supervisor, SampleRoots roots = {});
  ~Sampler() { Stop(); }

  // For the ranks that are started from now on, while none runs.
  void Begin(Plan plan);
  void RankStarted(uint32_t rank, pid_t pid);
  // No sample that is told after it has the rank.
  void RankEnded(uint32_t rank);
  // No event comes after it. Blocks for as long as one look takes, milliseconds.
  void Stop();

 private:
  class Collector;

  void Loop();
  // With the lock: while ranks of one attempt run.
  void Watch(std::unique_lock<std::mutex>& lock);
  void Forget(v1::NodeSample& sample) const;
  bool IsWanted() const { return !stopping_ && plan_.interval.count() > 0 && !ranks_.empty(); }

  const Events events_;
  Supervisor& supervisor_;
  const SampleRoots roots_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  Plan plan_;
  uint64_t attempt_ = 0;             // by calls of Begin
  std::map<uint32_t, pid_t> ranks_;  // that run
  bool stopping_ = false;

  std::thread thread_;  // last: uses the rest
};

}  // namespace autodist::agent
