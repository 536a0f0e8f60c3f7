#include "stopped_time.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>

#include "process/cgroup_folders.h"

namespace autodist::burn {
namespace {

using Seconds = std::chrono::duration<double>;

// The time in which this thread ran or waited for a CPU.
Seconds Runnable() {
  std::ifstream file("/proc/thread-self/schedstat");
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;
  file >> ran_ns >> waited_ns;
  return std::chrono::nanoseconds(ran_ns + waited_ns);
}

Seconds ThrottledIn(const std::string& cpu_stat) {
  std::ifstream file(cpu_stat);
  std::string name;
  for (uint64_t value = 0; file >> name >> value;) {
    if (name == "throttled_usec") return std::chrono::microseconds(value);
    if (name == "throttled_time") return std::chrono::nanoseconds(value);
  }
  return Seconds(0);
}

}  // namespace

StoppedTime::StoppedTime(int threads)
    : threads_(std::max(threads, 1)),
      begin_(std::chrono::steady_clock::now()),
      runnable_before_(Runnable()) {
  std::ifstream file("/proc/self/cgroup");
  const std::string text{std::istreambuf_iterator(file), {}};
  for (const auto& folder : process::CgroupFoldersOf(text, "cpu", "/sys/fs/cgroup")) {
    const std::string cpu_stat = folder.path + "/cpu.stat";
    groups_.push_back({cpu_stat, ThrottledIn(cpu_stat)});
  }
}

Seconds StoppedTime::Throttled() const {
  Seconds longest{0};
  for (const Group& group : groups_)
    longest = std::max(longest, ThrottledIn(group.cpu_stat) - group.throttled_before);
  return longest;
}

double StoppedTime::Share() const {
  const Seconds time = std::chrono::steady_clock::now() - begin_;
  const Seconds runnable = Runnable() - runnable_before_;
  // Some kernels count the time of a quota as waiting.
  const Seconds throttled = Throttled() / threads_;
  const Seconds unexplained = runnable.count() > 0 ? time - runnable : Seconds(0);
  return std::clamp(std::max(throttled, unexplained) / time, 0.0, 1.0);
}

}  // namespace autodist::burn
