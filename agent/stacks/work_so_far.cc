#include "agent/stacks/work_so_far.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "agent/sample/kernel_file.h"
#include "agent/sample/processes.h"
#include "agent/stacks/tcp_peer.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

constexpr size_t kLargestProcessFile = 64 << 10;    // bytes
constexpr std::string_view kBusyWaiting = "NCCL ";  // prefix of thread names

std::string Read(const std::string& path) {
  return base::ReadFile(path, kLargestProcessFile).value_or("");
}

uint64_t Milliseconds(uint64_t ticks) {
  static const auto per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * 1'000 / per_second;
}

std::optional<ProcessStat> StatOf(const std::string& folder) {
  return ParseProcessStat(Read(folder + "/stat"));
}

// Returns the CPU ticks of one thread.
uint64_t CpuOfThread(const std::string& folder) {
  const auto stat = StatOf(folder);
  return stat ? stat->own_cpu : 0;
}

uint64_t CpuOfBusyWaiting(const std::string& tasks) {
  uint64_t ticks = 0;
  const Folder folder(opendir(tasks.c_str()), closedir);
  while (const dirent* task = folder ? readdir(folder.get()) : nullptr) {
    const std::string thread = tasks + "/" + task->d_name;
    if (task->d_name[0] == '.' || !Read(thread + "/comm").starts_with(kBusyWaiting)) continue;
    ticks += CpuOfThread(thread);
  }
  return ticks;
}

// Returns the bytes of read(2), write(2) and similar calls.
uint64_t DataOf(const std::string& folder) {
  const std::string text = Read(folder + "/io");
  uint64_t bytes = 0;
  for (std::string_view io(text); !io.empty();) {
    std::string_view line = TakeLine(io);
    const std::string_view name = TakeWord(line);
    if (name == "rchar:" || name == "wchar:") bytes += TakeNumber<uint64_t>(line);
  }
  return bytes;
}

// TCP traffic to the addresses of other machines.
struct SentTo {
  uint64_t segments = 0;
  uint64_t again = 0;
  uint32_t unanswered = 0;
};

std::string SentText(const std::map<std::string, SentTo>& peers) {
  std::string text;
  for (const auto& [peer, sent] : peers) {
    if (sent.again == 0) continue;
    text += "sent again to " + peer + ": " + std::to_string(sent.again) + " of " +
            std::to_string(sent.segments) + " segments, unanswered " +
            std::to_string(sent.unanswered) + "\n";
  }
  return text;
}

uint64_t NowMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

}  // namespace

std::string WorkSoFar(pid_t pid, const TcpTraffic& traffic) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto stat = StatOf(folder);
  if (!stat) return "";
  const uint64_t busy_waiting = CpuOfBusyWaiting(folder + "/task");
  uint64_t data = DataOf(folder);
  std::map<std::string, SentTo> peers;
  for (const uint64_t inode : SocketsOf(folder + "/fd")) {
    const auto found = traffic.find(inode);
    if (found == traffic.end()) continue;
    const SocketTraffic& socket = found->second;
    data += socket.bytes;
    if (socket.peer.empty()) continue;
    SentTo& to = peers[socket.peer];
    to.segments += socket.sent;
    to.again += socket.sent_again;
    to.unanswered = std::max(to.unanswered, socket.unanswered);
  }
  return "by " + std::to_string(NowMilliseconds()) + " ms: CPU " +
         std::to_string(Milliseconds(stat->cpu > busy_waiting ? stat->cpu - busy_waiting : 0)) +
         " ms, main thread " +
         std::to_string(Milliseconds(CpuOfThread(folder + "/task/" + std::to_string(pid)))) +
         " ms, data " + std::to_string(data) + " bytes\n" + SentText(peers);
}

}  // namespace autodist::agent
