// Samples the node, its GPUs and its ranks periodically while ranks run.
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
#include "agent/sample/kernel_file.h"
#include "agent/supervisor/supervisor.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// The folders of the kernel's files.
struct SampleRoots {
  std::string proc = "/proc";
  std::string sys = "/sys";
};

// Thread-safe; only Stop blocks. Samples on a separate thread, so that neither ranks' output nor
// messages of the chief ever wait for it.
class Sampler {
 public:
  // The minimum interval.
  static constexpr std::chrono::milliseconds kShortest{100};

  struct Plan {
    std::chrono::milliseconds interval{0};  // 0: no samples
    std::set<uint32_t> gpus;                // of this job, in nvidia-smi's numbering
    process::Environment environment;       // in which nvidia-smi is searched for
    std::string working_directory;
  };
  // Called on the sampler's thread; must not call back.
  struct Events {
    std::function<void(v1::NodeSample sample)> sample;
    // Returns when the rank's output was last read.
    std::function<std::optional<SampleTime>(uint32_t rank)> last_output;
  };

  // Does not use the supervisor after Stop.
  Sampler(Events events, Supervisor& supervisor, SampleRoots roots = {});
  ~Sampler() { Stop(); }

  // Call before ranks are started, while none runs.
  void Begin(Plan plan);
  void RankStarted(uint32_t rank, pid_t pid);
  // Later samples do not contain the rank.
  void RankEnded(uint32_t rank);
  // Stops all events. Blocks until a sample in progress is done, for milliseconds.
  void Stop();

 private:
  class Collector;

  void Loop();
  // Samples while ranks of one attempt run. Call with the lock held.
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
  uint64_t attempt_ = 0;             // number of calls of Begin
  std::map<uint32_t, pid_t> ranks_;  // running ones
  bool stopping_ = false;

  std::thread thread_;  // last: uses the members above
};

}  // namespace autodist::agent
