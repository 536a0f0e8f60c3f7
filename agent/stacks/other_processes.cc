#include "agent/stacks/other_processes.h"

#include <poll.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>

#include "agent/prepare/gpus.h"
#include "agent/sample/processes.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

constexpr std::chrono::milliseconds kMeasureFor{500};
constexpr double kMinCores = 0.2;
constexpr size_t kLargestCommandLine = 64 << 10;  // bytes
constexpr size_t kMaxShownWord = 60;              // bytes

std::string FolderOf(pid_t pid) { return "/proc/" + std::to_string(pid); }

std::map<pid_t, ProcessStat> AllStats() {
  std::map<pid_t, ProcessStat> stats;
  for (const pid_t pid : process::AllProcesses()) {
    const auto stat = ReadProcessStat(FolderOf(pid));
    if (stat) stats.emplace(pid, *stat);
  }
  return stats;
}

// The program's name and its first argument, unless that is an option: other arguments may be
// secrets. "": a thread of the kernel, or it has ended.
std::string ProgramOf(pid_t pid) {
  const std::string line =
      base::ReadFile(FolderOf(pid) + "/cmdline", kLargestCommandLine).value_or("");
  std::string program;
  for (std::string_view word : base::Split(line, '\0')) {
    if (word.empty() || (!program.empty() && word.starts_with('-'))) break;
    word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
    const bool is_argument = !program.empty();
    program += (is_argument ? " " : "") + base::Printable(base::Truncated(word, kMaxShownWord));
    if (is_argument) break;
  }
  return program;
}

}  // namespace

std::string BusiestOther(const std::string& job, pid_t own) {
  const auto began = base::Deadline::Clock::now();
  const std::map<pid_t, ProcessStat> before = AllStats();
  poll(nullptr, 0, static_cast<int>(kMeasureFor.count()));
  const std::chrono::duration<double> took = base::Deadline::Clock::now() - began;
  const double ticks_of_core = took.count() * static_cast<double>(sysconf(_SC_CLK_TCK));
  std::string text;
  double most = kMinCores;
  for (const auto& [pid, stat] : AllStats()) {
    const auto earlier = before.find(pid);
    const bool is_same = earlier != before.end() && earlier->second.started == stat.started;
    if (!is_same || stat.own_cpu < earlier->second.own_cpu) continue;
    const double cores =
        static_cast<double>(stat.own_cpu - earlier->second.own_cpu) / ticks_of_core;
    if (cores < most || pid == own || process::IsDescendant(pid, own)) continue;
    const std::string program = ProgramOf(pid);
    const std::string its_job = JobOfProcess(FolderOf(pid));
    if (program.empty() || (!job.empty() && its_job == job)) continue;
    most = cores;
    const long tenths = std::lround(cores * 10);
    text = "other program: " + program + " (process " + std::to_string(pid);
    if (!its_job.empty())
      text += ", of job " + base::Printable(base::Truncated(its_job, kMaxShownWord));
    text += ") uses " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
    text += " cores\n";
  }
  return text;
}

}  // namespace autodist::agent
