#include "agent/stacks/stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "agent/sample/processes.h"
#include "agent/stacks/stack_depth.h"
#include "agent/stacks/stack_programs.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/process_tree.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestProcFile = 8 << 20;        // bytes; a command line may be large
constexpr std::string_view kBusyWaiting = "NCCL ";  // prefix of thread names

// Returns "" if it cannot be read: it belongs to another user, or its process has ended.
std::string ProcFile(const std::string& path) {
  return base::ReadFile(path, kLargestProcFile).value_or("");
}

uint64_t Milliseconds(uint64_t ticks) {
  static const auto per_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return ticks * 1'000 / per_second;
}

// Returns the CPU ticks of one thread.
uint64_t CpuOfThread(const std::string& folder) {
  const auto stat = ReadProcessStat(folder);
  return stat ? stat->own_cpu : 0;
}

uint64_t CpuOfBusyWaiting(const std::string& tasks) {
  uint64_t ticks = 0;
  for (const std::string& name : base::EntriesOf(tasks)) {
    const std::string thread = tasks + "/" + name;
    if (ProcFile(thread + "/comm").starts_with(kBusyWaiting)) ticks += CpuOfThread(thread);
  }
  return ticks;
}

// The bytes of read(2), write(2) and similar calls.
struct Data {
  uint64_t read = 0;
  uint64_t written = 0;
};

Data DataOf(const std::string& folder) {
  const std::string text = ProcFile(folder + "/io");
  Data data;
  for (std::string_view io(text); !io.empty();) {
    std::string_view line = TakeLine(io);
    const std::string_view name = TakeWord(line);
    if (name == "rchar:") data.read = TakeNumber<uint64_t>(line);
    if (name == "wchar:") data.written = TakeNumber<uint64_t>(line);
  }
  return data;
}

using Inodes = std::unordered_set<uint64_t>;

// TCP traffic to the addresses of other machines.
struct SentTo {
  uint64_t segments = 0;
  uint64_t again = 0;
  uint32_t unanswered = 0;
};

struct TrafficOfProcess {
  uint64_t bytes = 0;
  std::map<std::string, SentTo> peers;
  std::map<std::string, uint32_t> connecting;  // how often the SYN was sent again
};

TrafficOfProcess TrafficOf(const Inodes& sockets, const TcpTraffic& traffic) {
  TrafficOfProcess sum;
  for (const uint64_t inode : sockets) {
    const auto found = traffic.find(inode);
    if (found == traffic.end()) continue;
    const SocketTraffic& socket = found->second;
    sum.bytes += socket.bytes;
    if (!socket.connecting_to.empty()) {
      uint32_t& again = sum.connecting[socket.connecting_to];
      again = std::max(again, socket.unanswered);
    } else if (!socket.peer.empty()) {
      SentTo& to = sum.peers[socket.peer];
      to.segments += socket.sent;
      to.again += socket.sent_again;
      to.unanswered = std::max(to.unanswered, socket.unanswered);
    }
  }
  return sum;
}

// The retransmissions of a process so far.
std::string SentAgainBy(const Inodes& sockets, const TcpTraffic& all) {
  const TrafficOfProcess traffic = TrafficOf(sockets, all);
  std::string text;
  for (const auto& [peer, sent] : traffic.peers) {
    if (sent.again == 0) continue;
    text += "sent again to " + peer + ": " + std::to_string(sent.again) + " of " +
            std::to_string(sent.segments) + " segments, unanswered " +
            std::to_string(sent.unanswered) + "\n";
  }
  for (const auto& [to, again] : traffic.connecting) {
    text += "connecting to " + to + ": sent again " + std::to_string(again) + " times\n";
  }
  return text;
}

// "connected at 10.0.0.3:4711 10.0.0.3:4712": its own ends of connections; the first ones.
std::string OwnEnds(const Inodes& sockets, const TcpTraffic& traffic) {
  constexpr size_t kMaxEnds = 256;
  std::set<std::string> ends;
  for (const uint64_t inode : sockets) {
    const auto found = traffic.find(inode);
    if (found == traffic.end() || found->second.local.empty()) continue;
    ends.insert(found->second.local);
  }
  std::string text;
  size_t shown = 0;
  for (const std::string& end : ends) {
    if (shown++ < kMaxEnds) text += " " + end;
  }
  return text.empty() ? "" : "connected at" + text + "\n";
}

uint64_t NowMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

constexpr size_t kShownCommandLine = 4 << 10;  // bytes
constexpr size_t kShownThreads = 256 << 10;    // bytes, of one process
constexpr size_t kMaxTextLength = 1 << 20;     // bytes

// Returns the value of a line "Name:\tvalue" in a status file.
std::string Field(const std::string& status, const std::string& name) {
  const std::string label = "\n" + name + ":\t";
  const size_t found = ("\n" + status).find(label);
  if (found == std::string::npos) return "";
  const size_t begin = found + label.size() - 1;
  return status.substr(begin, status.find('\n', begin) - begin);
}

// Returns "sleeping" of "S (sleeping)".
std::string StateName(const std::string& status) {
  const std::string state = Field(status, "State");
  return state.size() > 4 ? state.substr(3, state.size() - 4) : state;
}

// Whether an examination of the stacks would block.
bool IsFrozen(const std::string& threads) {
  return threads.find("refrigerator") != std::string::npos ||
         threads.find("do_freezer_trap") != std::string::npos;
}

// Returns "gdb (4711)", the debugger that traces it, unless this program started the debugger; or
// "".
std::string TracerOf(const std::string& status) {
  const std::string tracer = Field(status, "TracerPid");
  if (tracer.empty() || tracer == "0") return "";
  const std::string of_tracer = ProcFile("/proc/" + tracer + "/status");
  if (Field(of_tracer, "PPid") == std::to_string(getpid())) return "";
  return Field(of_tracer, "Name") + " (" + tracer + ")";
}

// Whether it is stopped by a signal or a debugger.
bool IsStopped(const std::string& status) {
  return StateName(status).find("stop") != std::string::npos;
}

std::string CommandLine(pid_t pid, const std::string& status) {
  std::string text = ProcFile("/proc/" + std::to_string(pid) + "/cmdline");
  if (text.empty()) return "[" + Field(status, "Name") + "]";
  if (text.ends_with('\0')) text.pop_back();
  const auto arguments = base::Split(text, '\0');
  const std::vector<std::string> argv(arguments.begin(), arguments.end());
  return base::Truncated(base::ShellLine(argv), kShownCommandLine);
}

// Returns the text at an address of the thread's memory, up to the end of the page.
std::string TextAt(const std::string& folder, uint64_t address) {
  const base::UniqueFd memory(open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const size_t size = text.size() - address % text.size();  // the next page may be unmapped
  const ssize_t got =
      memory.valid() ? pread(memory.get(), text.data(), size, static_cast<off_t>(address)) : -1;
  const std::string_view read(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(read.substr(0, read.find('\0')));
}

constexpr char kItsInput[] = "its input";

// Describes an open descriptor of the thread.
std::string DescriptorText(const std::string& folder, uint64_t descriptor, SocketTables& tables) {
  const std::string link = base::LinkTarget(folder + "/fd/" + std::to_string(descriptor));
  const bool is_pipe = link.starts_with("pipe:") || link.starts_with("/dev/pts/");
  if (is_pipe && descriptor == STDIN_FILENO) return kItsInput;
  if (is_pipe && (descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO)) return "its output";
  return tables.Describe(folder, link);
}

// Returns the TCP socket or the input for which poll(2) waits, or "". `address`: of the only
// pollfd.
std::string FilePolledBy(const std::string& folder, uint64_t address, SocketTables& tables) {
  const base::UniqueFd memory(open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  int descriptor = -1;
  constexpr auto kSize = static_cast<ssize_t>(sizeof descriptor);
  const bool is_read = memory.valid() && pread(memory.get(), &descriptor, sizeof descriptor,
                                               static_cast<off_t>(address)) == kSize;
  if (!is_read) return "";
  const std::string text = DescriptorText(folder, static_cast<uint64_t>(descriptor), tables);
  return text.starts_with("socket to ") || text == kItsInput ? text : "";
}

// Returns what the thread reads, writes or opens in its system call, which /proc shows as "0 0x3
// 0x7f0c …"; "" for other system calls, and if unknown.
std::string FileOf(const std::string& folder, const std::string& call, SocketTables& tables) {
  constexpr std::array<long, 14> kOfDescriptor = {
      SYS_read,     SYS_write,  SYS_readv,   SYS_writev,  SYS_pread64,   SYS_pwrite64, SYS_fsync,
      SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg, SYS_fdatasync, SYS_flock,    SYS_fcntl};
  // System calls with a path as the second argument.
  constexpr std::array<long, 5> kAtFolder = {SYS_openat, SYS_newfstatat, SYS_statx, SYS_faccessat,
                                             SYS_unlinkat};
  const std::vector<std::string_view> words = base::Split(call, ' ');
  const auto word = [&](size_t i) {
    uint64_t value = 0;
    if (i >= words.size()) return value;
    const bool hexadecimal = words[i].starts_with("0x");
    const std::string_view digits = words[i].substr(hexadecimal ? 2 : 0);
    std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    return value;
  };
  const auto number = static_cast<long>(word(0));
  if (std::ranges::find(kAtFolder, number) != kAtFolder.end()) return TextAt(folder, word(2));
#ifdef __x86_64__  // newer architectures lack these
  constexpr std::array<long, 5> kOfPath = {SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_mkdir};
  if (std::ranges::find(kOfPath, number) != kOfPath.end()) return TextAt(folder, word(1));
  if (number == SYS_poll && word(2) == 1) return FilePolledBy(folder, word(1), tables);
#endif
  if (number == SYS_ppoll && word(2) == 1) return FilePolledBy(folder, word(1), tables);
  // readline, as of Python's input() and pdb, selects descriptor 0 alone: one below the first word.
  bool selects = number == SYS_pselect6;
#ifdef __x86_64__
  selects = selects || number == SYS_select;
#endif
  if (selects) {
    const std::string text = word(1) == 1 ? DescriptorText(folder, STDIN_FILENO, tables) : "";
    return text == kItsInput ? text : "";
  }
  if (std::ranges::find(kOfDescriptor, number) == kOfDescriptor.end()) return "";
  return DescriptorText(folder, word(1), tables);
}

// Formats the kernel's data about the thread in this folder of /proc: number, name, state, system
// call, wait channel, number of context switches and, for root, the kernel stack.
std::string ThreadText(const std::string& folder, const std::string& thread, SocketTables& tables) {
  const std::string status = ProcFile(folder + "/status");
  if (status.empty()) return "";
  std::string line = "thread " + thread + " (" + Field(status, "Name") + "): " + StateName(status);
  const std::string channel = ProcFile(folder + "/wchan");
  if (!channel.empty() && channel != "0") line += " in " + channel;
  const std::string call = ProcFile(folder + "/syscall");
  if (!call.empty() && std::isdigit(static_cast<unsigned char>(call[0]))) {
    line += ", system call " + call.substr(0, call.find(' '));
  }
  std::string text = Indented(line, "  ");
  if (const std::string file = FileOf(folder, call, tables); !file.empty()) {
    text += Indented("file: " + file, "    ");
  }
  // If it is equal twice, the thread has not run in between.
  const std::string switches = Field(status, "voluntary_ctxt_switches");
  if (!switches.empty() && !Field(status, "State").starts_with('Z'))
    text += Indented("switched " + switches + " times", "    ");
  return text + Indented(ProcFile(folder + "/stack"), "    ");
}

std::string ThreadsText(pid_t pid) {
  std::string text;
  SocketTables tables;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  while (const dirent* task = folder ? readdir(folder.get()) : nullptr) {
    const std::string thread = task->d_name;
    if (thread.starts_with('.') || text.size() > kShownThreads) continue;
    text += ThreadText(tasks + "/" + thread, thread, tables);
  }
  return text;
}

// A process and the kernel's data about it; the stacks from programs follow, unless something
// prevents them.
struct Shown {
  LookedAt process;
  std::string parent;  // its number
  std::string command;
  bool by_programs = false;
  bool awaits_child = false;
  Inodes sockets;
  std::optional<StackPosition> position;
  std::string text;
};

Shown Show(pid_t pid, const TcpTraffic& traffic, bool suspended) {
  Shown shown;
  const uint64_t started = StartTime(pid);
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string status = ProcFile(folder + "/status");
  if (status.empty()) {
    shown.text = "process " + std::to_string(pid) + " has ended\n";
    return shown;
  }
  const bool ended = Field(status, "State").starts_with('Z');
  const std::string tracer = TracerOf(status);
  // Together with the state, before programs have stopped the process.
  shown.position = PositionOf(folder);
  const std::string threads = ThreadsText(pid);
  shown.sockets = SocketsOf(folder + "/fd");
  shown.parent = Field(status, "PPid");
  shown.command = CommandLine(pid, status);
  shown.awaits_child = threads.find(" in do_wait") != std::string::npos;
  std::string& text = shown.text;
  text = base::Printable("process " + std::to_string(pid) + " (" + StateName(status) +
                         "): " + shown.command) +
         "\n" + Indented("child of " + shown.parent, "  ");
  if (!tracer.empty()) text += Indented("held by " + tracer, "  ");
  text += threads;
  if (!ended) text += Indented(WorkSoFar(pid, shown.sockets, traffic), "  ");
  std::string hindrance;
  if (IsFrozen(threads)) hindrance = "the process is frozen";
  if (!tracer.empty()) hindrance = tracer + " holds the process";
  if (!ended && !hindrance.empty()) text += "  no user-space stacks: " + hindrance + "\n";
  shown.process = {.pid = pid,
                   .started = started,
                   .stopped = IsStopped(status) && !suspended,
                   .uninterruptible = Field(status, "State").starts_with('D')};
  shown.by_programs = !ended && hindrance.empty();
  return shown;
}

// Whether the process may be compared with those of other ranks. Not if it was forked by a process
// that does not wait for it, such as a worker of a data loader: that process is compared instead.
bool MayBeCompared(const Shown& process, const std::vector<Shown>& all) {
  const auto parent = std::ranges::find_if(all, [&](const Shown& one) {
    return one.process.pid != 0 && std::to_string(one.process.pid) == process.parent;
  });
  return parent == all.end() || parent->awaits_child || parent->command != process.command;
}

// Whether it has ended since it was shown.
bool HasEnded(const LookedAt& process) {
  const auto stat = ReadProcessStat("/proc/" + std::to_string(process.pid));
  return !stat || stat->started != process.started || stat->state == 'Z';
}

}  // namespace

std::string WorkSoFar(pid_t pid, const Inodes& sockets, const TcpTraffic& traffic) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const auto stat = ReadProcessStat(folder);
  if (!stat) return "";
  const uint64_t busy_waiting = CpuOfBusyWaiting(folder + "/task");
  const Data data = DataOf(folder);
  const uint64_t bytes = data.read + data.written + TrafficOf(sockets, traffic).bytes;
  return "by " + std::to_string(NowMilliseconds()) + " ms: CPU " +
         std::to_string(Milliseconds(stat->cpu > busy_waiting ? stat->cpu - busy_waiting : 0)) +
         " ms, main thread " +
         std::to_string(Milliseconds(CpuOfThread(folder + "/task/" + std::to_string(pid)))) +
         " ms, data " + std::to_string(bytes) + " bytes, " + std::to_string(data.read) +
         " of them read, " + std::to_string(data.written) + " written\n";
}

std::string ProcessStacks(pid_t pid, Supervisor& supervisor,
                          const process::Environment& rank_environment,
                          const StackOptions& options) {
  std::vector<pid_t> processes = process::Descendants(pid);
  processes.insert(processes.begin(), pid);
  StackPrograms programs(supervisor, rank_environment, options);
  const TcpTraffic traffic = ReadTcpTraffic();
  // The kernel's data first, because programs stop the processes.
  std::vector<Shown> shown;
  std::vector<LookedAt> looked_at;
  for (const pid_t process : processes) {
    shown.push_back(Show(process, traffic, programs.IsSuspended(process)));
    if (shown.back().by_programs) looked_at.push_back(shown.back().process);
  }
  std::map<pid_t, std::string> stacks = programs.StacksOf(looked_at);
  const TcpTraffic after = options.counted ? TcpTraffic() : ReadTcpTraffic();
  const TcpTraffic& counted = options.counted ? *options.counted : after;
  std::string text = programs.WhyNone();
  for (const Shown& one : shown) {
    if (text.size() > kMaxTextLength) break;
    const std::string& by_programs = stacks[one.process.pid];
    const std::string folder = "/proc/" + std::to_string(one.process.pid);
    // Meanwhile, it may have sockets of other attempts to connect.
    text +=
        one.text +
        Indented(SentAgainBy(options.counted ? one.sockets : SocketsOf(folder + "/fd"), counted),
                 "  ");
    if (MayBeCompared(one, shown)) {
      text += Indented(OwnEnds(one.sockets, traffic), "  ");
      const bool has_stacks = by_programs.find(kShownBy) != std::string::npos;
      if (one.position && !has_stacks) text += Indented(DepthText(*one.position, folder), "  ");
    }
    text += by_programs;
    if (one.by_programs && HasEnded(one.process)) text += "  has ended meanwhile\n";
  }
  return base::ToUtf8(Cut(std::move(text), kMaxTextLength));
}

}  // namespace autodist::agent
