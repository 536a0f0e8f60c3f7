#include "health/system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <optional>

#include "health/small_files.h"

namespace autodist::health {
namespace {

struct Process {
  std::string name;
  char state;
};

// Of /proc/PID/stat: "4711 (nvidia-smi) D 1 ..."
std::optional<Process> ParseProcess(const std::string& line) {
  const size_t begin = line.find('(');
  const size_t end = line.rfind(") ");
  if (begin == std::string::npos || end == std::string::npos || end < begin ||
      end + 2 >= line.size()) {
    return std::nullopt;
  }
  return Process{line.substr(begin + 1, end - begin - 1), line[end + 2]};
}

// Whether root or this user runs the process: others may give theirs any name.
bool MayBeOfDriver(const std::string& folder) {
  struct stat info {};
  return stat(folder.c_str(), &info) == 0 && (info.st_uid == 0 || info.st_uid == geteuid());
}

// Programs of the driver that wait uninterruptibly: a GPU or its driver does not answer. Others may
// wait for a disk.
void FindHungDriver(const std::string& root, std::vector<Fault>& faults) {
  const std::string folder = root + "/proc";
  for (const std::string& pid : NamesIn(folder)) {
    if (std::isdigit(static_cast<unsigned char>(pid[0])) == 0) continue;
    const auto process = ParseProcess(LineOf(folder + "/" + pid + "/stat"));
    if (!process || process->state != 'D' || !process->name.starts_with("nvidia")) continue;
    if (!MayBeOfDriver(folder + "/" + pid)) continue;
    faults.push_back({Severity::kWarning, process->name + " (pid " + pid + ")",
                      "waits in the driver and cannot be ended", "/proc",
                      "if it stays so, restart the node"});
  }
}

void FindSlowClock(const std::string& root, std::vector<Fault>& faults) {
  const std::string source =
      LineOf(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source != "hpet" && source != "acpi_pm" && source != "jiffies") return;
  faults.push_back(
      {Severity::kWarning, "",
       "reads the time from " + source + ", which is slow for programs that do so often", "/sys",
       "see the kernel log for why the processor's clock (tsc) was found unstable"});
}

// With intel_pstate and amd-pstate, powersave changes the clock as needed.
void FindSlowProcessor(const std::string& root, std::vector<Fault>& faults) {
  const std::string folder = root + "/sys/devices/system/cpu/cpu0/cpufreq";
  if (LineOf(folder + "/scaling_governor") != "powersave") return;
  if (LineOf(folder + "/scaling_driver").find("pstate") != std::string::npos) return;
  faults.push_back({Severity::kWarning, "",
                    "runs its processors at the lowest clock: the governor is powersave", "/sys",
                    "cpupower frequency-set --governor performance"});
}

}  // namespace

std::vector<Fault> FindInSystem(const std::string& root) {
  std::vector<Fault> faults;
  FindHungDriver(root, faults);
  FindSlowClock(root, faults);
  FindSlowProcessor(root, faults);
  return faults;
}

}  // namespace autodist::health
