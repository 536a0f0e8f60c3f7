// scale NODES [RANKS [SECONDS]]   runs a job of NODES simulated nodes with RANKS ranks each (8);
// one rank fails after SECONDS (32), during which the job can be viewed
//
// Prints the resource usage of the chief, which is the real one except for SSH. The exit code is 1
// if the job ended unexpectedly.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/log.h"
#include "chief/loop/signal_watcher.h"
#include "chief/run_job.h"
#include "plan/plan.h"
#include "rpc/settings.h"
#include "scale/simulated_job.h"
#include "scale/simulated_nodes.h"

namespace autodist::scale {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for two rounds of leases and samples for any number of nodes.
constexpr uint32_t kIdleSeconds = 32;
constexpr int kFailed = 3;  // the exit code of the rank that fails

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

// Of this process only.
double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// Each process has its own core.
void PinTo(unsigned core) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

// Raises the limit of open files, if permitted.
void AllowAllFiles() {
  rlimit files{1 << 20, 1 << 20};
  if (setrlimit(RLIMIT_NOFILE, &files) == 0) return;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// The measurements of the run.
struct Course {
  double launch_cpu = 0;  // seconds
  double launch_wall = 0;
  double idle_cpu = 0;
  double idle_megabytes = 0;
  Clock::time_point failed_at;
  double cpu_at_failure = 0;
};

Course Follow(SimulatedNodes& nodes, uint32_t count, std::chrono::seconds idle,
              Clock::time_point began, double cpu_began) {
  Course course;
  if (!nodes.AwaitStarted(count).ok()) return course;
  course.launch_wall = Seconds(Clock::now() - began);
  course.launch_cpu = CpuSeconds() - cpu_began;
  const double cpu = CpuSeconds();
  std::this_thread::sleep_for(idle);
  course.cpu_at_failure = CpuSeconds();
  course.idle_cpu = (course.cpu_at_failure - cpu) / Seconds(idle);
  course.idle_megabytes = PeakMegabytes();
  const auto failed_at = nodes.FailRankOf(count / 2);
  if (failed_at.ok()) course.failed_at = *failed_at;
  return course;
}

int Main(uint32_t count, uint32_t ranks, std::chrono::seconds idle) {
  rpc::BeginProgram();
  AllowAllFiles();
  PinTo(1);
  char folder[] = "/dev/shm/autodist-scale.XXXXXX";
  if (!mkdtemp(folder)) return 1;
  auto nodes = SimulatedNodes::Start(std::string(folder) + "/nodes");
  if (!nodes.ok()) {
    base::LogFailure(nodes.status());
    return 1;
  }
  PinTo(0);
  const Clock::time_point began = Clock::now();
  const double cpu_began = CpuSeconds();
  const auto plan = plan::MakePlan(JobInput(count, ranks));
  if (!plan.ok()) {
    base::LogFailure(plan.status());
    return 1;
  }
  const double plan_cpu = CpuSeconds() - cpu_began;
  chief::JobOptions options;
  const std::string agent = std::string(folder) + "/agent";  // which no node requests
  std::ofstream(agent) << "agent";
  options.launch.request.set_agent(agent);
  options.launch.connector = ConnectorTo(**nodes);
  options.log_folder = std::string(folder) + "/job";
  chief::SignalWatcher::Block();
  Course course;
  std::thread following([&] { course = Follow(**nodes, count, idle, began, cpu_began); });
  const int code = chief::RunJob(*plan, std::move(options));
  const Clock::time_point ended = Clock::now();
  (*nodes)->Cancel();
  following.join();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::printf(
      "%u nodes x %u ranks: plan %.2f s, launched in %.2f s with %.2f s of CPU; then %.1f %% of a "
      "core, %.0f MB;\none rank's failure: all over after %.2f s, with %.2f s of CPU; peak %.0f "
      "MB\n",
      count, ranks, plan_cpu, course.launch_wall, course.launch_cpu, 100 * course.idle_cpu,
      course.idle_megabytes, Seconds(ended - course.failed_at),
      CpuSeconds() - course.cpu_at_failure, PeakMegabytes());
  return code == kFailed ? 0 : 1;
}

}  // namespace
}  // namespace autodist::scale

int main(int argc, char** argv) {
  const auto number = [&](int at, uint32_t usual) {
    return argc > at ? static_cast<uint32_t>(std::strtoul(argv[at], nullptr, 10)) : usual;
  };
  if (number(1, 0) == 0) {
    std::fputs("scale NODES [RANKS [SECONDS]]\n", stderr);
    return 2;
  }
  using autodist::scale::kIdleSeconds;
  return autodist::scale::Main(number(1, 0), number(2, 8),
                               std::chrono::seconds(number(3, kIdleSeconds)));
}
