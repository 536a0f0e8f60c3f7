// autodist-burn MILLISECONDS: loads one device, and prints how fast it is and whether its results
// are right. Started by `autodist doctor --burn` as the ranks of a job.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/parse_number.h"
#include "cpu_works.h"
#include "gpu_works.h"
#include "process/cgroup_folders.h"

namespace autodist::burn {
namespace {

using Seconds = std::chrono::duration<double>;

// For how long the thread that made it was kept from running since then, although no other program
// used its CPU. Files: the kernel's scheduler/sched-stats.rst, cgroup-v2.rst and
// scheduler/sched-bwc.rst. Not thread-safe.
class StoppedTime {
 public:
  // `threads`: those in the same control group, of all ranks.
  explicit StoppedTime(int threads);

  // Share of the time in which a CPU quota of a control group, a signal or the hypervisor stopped
  // the thread, which must not have waited for anything else. What the kernel does not say is 0.
  double Share() const;

 private:
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

using std::chrono::milliseconds;

Result<std::string> BurnGpu(milliseconds time) {
  const char* const rank = std::getenv("AUTODIST_LOCAL_RANK");  // indexes the node's GPUs
  AD_ASSIGN_OR_RETURN(const auto gpu, CudaDevice::Open(rank ? std::atoi(rank) : 0));
  AD_ASSIGN_OR_RETURN(const auto works, GpuWorks(*gpu));
  AD_ASSIGN_OR_RETURN(const Measured measured, Burn(works, time));
  return AsJson(gpu->name(), measured);
}

Result<std::string> BurnCpu(milliseconds time) {
  const char* const ranks = std::getenv("AUTODIST_LOCAL_WORLD_SIZE");
  const StoppedTime stopped(ranks ? std::atoi(ranks) : 1);
  AD_ASSIGN_OR_RETURN(Measured measured, Burn(CpuWorks(), time));
  measured.stopped = stopped.Share();
  return AsJson(CpuName(), measured);
}

Result<std::string> Run(std::string_view text) {
  const char* const device = std::getenv("AUTODIST_DEVICE");
  const auto number = base::ParseNumber<uint32_t>(text);
  if (!device || !number) {
    return WithRemedy(Error(StatusCode::kInvalidArgument, "not started as a rank"),
                      "start this program with `autodist doctor --burn`");
  }
  const milliseconds time(*number);
  return device == std::string_view("gpu") ? BurnGpu(time) : BurnCpu(time);
}

}  // namespace
}  // namespace autodist::burn

int main(int argc, char** argv) {
  const auto line = autodist::burn::Run(argc == 2 ? argv[1] : "");
  if (line.ok()) return std::puts(line->c_str()) < 0 ? 1 : 0;
  const std::string remedy = autodist::Remedy(line.status());
  std::fprintf(stderr, "autodist-burn: %s\n%s%s%s", autodist::Message(line.status()).c_str(),
               remedy.empty() ? "" : "hint: ", remedy.c_str(), remedy.empty() ? "" : "\n");
  return 1;
}
