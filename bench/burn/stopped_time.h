// For how long a thread was kept from running, although no other program used its CPU. Files: the
// kernel's scheduler/sched-stats.rst, cgroup-v2.rst and scheduler/sched-bwc.rst.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace autodist::burn {

// The time since it was made, in the thread that made it. Not thread-safe.
class StoppedTime {
 public:
  // `threads`: those in the same control group, of all ranks.
  explicit StoppedTime(int threads);

  // Share of the time in which a CPU quota of a control group, a signal or the hypervisor stopped
  // the thread, which must not have waited for anything else. What the kernel does not say is 0.
  double Share() const;

 private:
  using Seconds = std::chrono::duration<double>;

  struct Group {
    std::string cpu_stat;  // file
    Seconds throttled_before{0};
  };

  // The longest one of all groups, over all CPUs.
  Seconds Throttled() const;

  const int threads_;
  const std::chrono::steady_clock::time_point begin_;
  const Seconds runnable_before_;
  std::vector<Group> groups_;
};

}  // namespace autodist::burn
