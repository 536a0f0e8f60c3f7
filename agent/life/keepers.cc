#include "agent/life/keepers.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string_view>
#include <thread>

#include "agent/life/watchdog.h"
#include "base/fd.h"
#include "base/split.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

constexpr size_t kMaxCommandLine = 64 << 10;
constexpr size_t kBootDigits = 32;
constexpr std::chrono::milliseconds kLookForEnd{100};  // for kernels before 5.3

std::string ProcFile(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

bool IsOurUsers(pid_t pid) {
  struct stat info;
  return stat(("/proc/" + std::to_string(pid)).c_str(), &info) == 0 && info.st_uid == geteuid();
}

// Returns "JOB.NODE_RANK" of a watchdog or agent, from the command line of the `attach` from which
// it was forked.
std::optional<std::string> KeptBy(pid_t pid) {
  if (!IsOurUsers(pid) || !IsNamedWatchdog(pid)) return std::nullopt;
  const auto line = base::ReadFile(ProcFile(pid, "cmdline"), kMaxCommandLine);
  if (!line.ok()) return std::nullopt;
  const std::vector<std::string_view> argv = base::Split(*line, '\0');
  if (argv.size() < 4 || argv[1] != "attach") return std::nullopt;
  return std::string(argv[2]) + "." + std::string(argv[3]);
}

// Containers, and virtual hosts, may share the process list of a machine.
bool IsOnOurHost(pid_t pid) {
  const auto is_ours = [pid](const char* space) {
    return base::LinkTarget(ProcFile(pid, space)) ==
           base::LinkTarget(std::string("/proc/self/") + space);
  };
  return is_ours("ns/net") && is_ours("ns/uts");
}

void AwaitProcessEnd(pid_t pid) {
  const base::UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid() && errno == ENOSYS) return std::this_thread::sleep_for(kLookForEnd);
  pollfd end{process.get(), POLLIN, 0};
  while (process.valid() && poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
}

}  // namespace

bool IsNamedWatchdog(pid_t pid) {
  return base::ReadFile(ProcFile(pid, "comm"), kMaxCommandLine).value_or("") ==
         std::string(kWatchdogName) + "\n";
}

std::multimap<std::string, pid_t> KeepersHere() {
  std::multimap<std::string, pid_t> keepers;
  for (const pid_t pid : process::AllProcesses()) {
    const auto name = KeptBy(pid);
    if (name && IsOnOurHost(pid)) keepers.emplace(*name, pid);
  }
  return keepers;
}

std::vector<pid_t> KeepersOf(const std::string& name) {
  std::vector<pid_t> keepers = process::AllProcesses();
  std::erase_if(keepers, [&](pid_t pid) { return KeptBy(pid) != name; });
  return keepers;
}

void AwaitNoKeepers(const std::string& name) {
  for (;;) {
    const std::vector<pid_t> keepers = KeepersOf(name);
    if (keepers.empty()) return;
    AwaitProcessEnd(keepers.front());
  }
}

std::string ProcessScope() {
  // /proc may belong to another namespace.
  if (base::LinkTarget("/proc/self") != std::to_string(getpid())) return "";
  std::string boot = base::ReadFile("/proc/sys/kernel/random/boot_id", 64).value_or("");
  std::erase_if(boot, [](char c) { return c == '-' || c == '\n'; });
  std::string space = base::LinkTarget("/proc/self/ns/pid");  // "pid:[4026531836]"
  std::erase_if(space, [](char c) { return c < '0' || c > '9'; });
  if (boot.size() != kBootDigits || space.empty()) return "";
  return boot + "-" + space;
}

Absence AbsenceIn(const std::string& scope_of_agent, const std::string& ours) {
  if (scope_of_agent.size() <= kBootDigits || ours.size() <= kBootDigits)
    return Absence::kUncertain;
  if (scope_of_agent.substr(0, kBootDigits) != ours.substr(0, kBootDigits)) {
    return Absence::kMachineRestarted;
  }
  return scope_of_agent == ours ? Absence::kEnded : Absence::kUncertain;
}

}  // namespace autodist::agent
