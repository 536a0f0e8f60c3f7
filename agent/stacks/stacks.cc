#include "agent/stacks/stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/prepare/python.h"
#include "agent/stacks/tcp_peer.h"
#include "agent/stacks/tcp_traffic.h"
#include "agent/stacks/work_so_far.h"
#include "agent/supervisor/run_program.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/process_tree.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAllProgramsLimit{60};       // none is begun after it
constexpr size_t kLargestProcFile = 8 << 20;   // bytes; a command line may be large
constexpr size_t kShownCommandLine = 4 << 10;  // bytes
constexpr size_t kShownThreads = 256 << 10;    // bytes, of one process, as the next
constexpr size_t kShownStacks = 256 << 10;
constexpr size_t kLongestText = 1 << 20;  // bytes
constexpr char kNoProgram[] =
    "no user-space stacks: neither py-spy (pip install py-spy) nor gdb is installed on this node\n";
constexpr char kNoPySpy[] =
    "  no user-space stacks: py-spy (pip install py-spy), which shows Python's, is not installed "
    "on this node\n";

// "" if it cannot be read: another's, or its process has ended.
std::string ProcFile(const std::string& path) {
  return base::ReadFile(path, kLargestProcFile).value_or("");
}

// Of the text of a status file: the value of a line "Name:\tvalue".
std::string Field(const std::string& status, const std::string& name) {
  const std::string label = "\n" + name + ":\t";
  const size_t found = ("\n" + status).find(label);
  if (found == std::string::npos) return "";
  const size_t begin = found + label.size() - 1;
  return status.substr(begin, status.find('\n', begin) - begin);
}

// "sleeping" of "S (sleeping)".
std::string StateInWords(const std::string& status) {
  const std::string state = Field(status, "State");
  return state.size() > 4 ? state.substr(3, state.size() - 4) : state;
}

// Which a look at its stacks would only wait for.
bool IsFrozen(const std::string& threads) {
  return threads.find("refrigerator") != std::string::npos ||
         threads.find("do_freezer_trap") != std::string::npos;
}

// "gdb (4711)": the debugger that has it, but for one that this program has started; "": none.
std::string TracerOf(const std::string& status) {
  const std::string tracer = Field(status, "TracerPid");
  if (tracer.empty() || tracer == "0") return "";
  const std::string of_tracer = ProcFile("/proc/" + tracer + "/status");
  if (Field(of_tracer, "PPid") == std::to_string(getpid())) return "";
  return Field(of_tracer, "Name") + " (" + tracer + ")";
}

// By a signal or a debugger.
bool IsStopped(const std::string& status) {
  return StateInWords(status).find("stop") != std::string::npos;
}

// The lines of `text`, each printable and after `indent`.
std::string Indented(std::string_view text, const std::string& indent) {
  std::string lines;
  for (const std::string_view line : base::Lines(text)) {
    lines += indent + base::Printable(line) + "\n";
  }
  return lines;
}

std::string Cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  text.resize(limit);
  return text + " (cut here)\n";
}

std::string CommandLine(pid_t pid, const std::string& status) {
  std::string text = ProcFile("/proc/" + std::to_string(pid) + "/cmdline");
  if (text.empty()) return "[" + Field(status, "Name") + "]";
  if (text.ends_with('\0')) text.pop_back();
  const auto arguments = base::Split(text, '\0');
  const std::vector<std::string> argv(arguments.begin(), arguments.end());
  std::string line = base::ShellLine(argv);
  if (line.size() <= kShownCommandLine) return line;
  line.resize(kShownCommandLine);
  return line + "...";
}

std::string LinkTarget(const std::string& link) {
  std::array<char, 4096> target;
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<size_t>(length)) : "";
}

// The text at an address of the thread's memory, of one page at most.
std::string TextAt(const std::string& folder, uint64_t address) {
  const base::UniqueFd memory(open((folder + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const size_t size = text.size() - address % text.size();  // the next page may not be there
  const ssize_t got =
      memory.valid() ? pread(memory.get(), text.data(), size, static_cast<off_t>(address)) : -1;
  const std::string_view read(text.data(), got > 0 ? static_cast<size_t>(got) : 0);
  return std::string(read.substr(0, read.find('\0')));
}

// What the thread reads, writes or opens by its system call, as /proc tells of it: "0 0x3 0x7f0c
// …"; "": it does none of that, or it cannot be told.
std::string FileOf(const std::string& folder, const std::string& call) {
  constexpr std::array<long, 14> kOfDescriptor = {
      SYS_read,     SYS_write,  SYS_readv,   SYS_writev,  SYS_pread64,   SYS_pwrite64, SYS_fsync,
      SYS_recvfrom, SYS_sendto, SYS_recvmsg, SYS_sendmsg, SYS_fdatasync, SYS_flock,    SYS_fcntl};
  // Of a path, as the second argument.
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
#ifdef __x86_64__  // newer machines do without these
  constexpr std::array<long, 5> kOfPath = {SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_mkdir};
  if (std::ranges::find(kOfPath, number) != kOfPath.end()) return TextAt(folder, word(1));
#endif
  if (std::ranges::find(kOfDescriptor, number) == kOfDescriptor.end()) return "";
  const std::string link = LinkTarget(folder + "/fd/" + std::to_string(word(1)));
  const bool is_pipe = link.starts_with("pipe:") || link.starts_with("/dev/pts/");
  if (is_pipe && word(1) == STDIN_FILENO) return "its input";
  if (is_pipe && (word(1) == STDOUT_FILENO || word(1) == STDERR_FILENO)) return "its output";
  return SocketText(folder, link);
}

// Its number, name, state and system call, where it waits, how often it has been switched, and, for
// root, its stack in the kernel: what the kernel tells of the thread in this folder of /proc.
std::string ThreadText(const std::string& folder, const std::string& thread) {
  const std::string status = ProcFile(folder + "/status");
  if (status.empty()) return "";
  std::string line =
      "thread " + thread + " (" + Field(status, "Name") + "): " + StateInWords(status);
  const std::string channel = ProcFile(folder + "/wchan");
  if (!channel.empty() && channel != "0") line += " in " + channel;
  const std::string call = ProcFile(folder + "/syscall");
  if (!call.empty() && std::isdigit(static_cast<unsigned char>(call[0]))) {
    line += ", system call " + call.substr(0, call.find(' '));
  }
  std::string text = Indented(line, "  ");
  if (const std::string file = FileOf(folder, call); !file.empty()) {
    text += Indented("file: " + file, "    ");
  }
  // Twice the same: it has not run in between.
  const std::string switches = Field(status, "voluntary_ctxt_switches");
  if (!switches.empty() && !Field(status, "State").starts_with('Z'))
    text += Indented("switched " + switches + " times", "    ");
  return text + Indented(ProcFile(folder + "/stack"), "    ");
}

std::string ThreadsText(pid_t pid) {
  std::string text;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(tasks.c_str()), closedir);
  while (const dirent* task = folder ? readdir(folder.get()) : nullptr) {
    const std::string thread = task->d_name;
    if (thread.starts_with('.') || text.size() > kShownThreads) continue;
    text += ThreadText(tasks + "/" + thread, thread);
  }
  return text;
}

// What else the rank has set is for its own program: PYTHONHOME alone breaks gdb.
process::Environment EnvironmentFor(const process::Environment& rank_environment) {
  process::Environment environment = process::Environment::CleanLogin(rank_environment);
  environment.Set("PATH", rank_environment.Get("PATH"));
  return environment;
}

// The programs that show the stacks of another process.
class StackPrograms {
 public:
  StackPrograms(Supervisor& supervisor, const process::Environment& rank_environment,
                milliseconds limit)
      : supervisor_(supervisor), environment_(EnvironmentFor(rank_environment)), limit_(limit) {}

  bool has_any() const { return has_py_spy_ || has_gdb_; }

  // `status`: the process's status file before.
  std::string StacksOf(pid_t pid, const std::string& status) {
    const std::vector<std::string> argv = CommandFor(pid);
    if (argv.empty()) return has_any() ? "  no user-space stacks: gdb is not installed\n" : "";
    if (deadline_.Expired()) return "  no user-space stacks: the looks before took too long\n";
    const auto output = RunProgram({argv, environment_, "/"}, limit_, supervisor_);
    // One that is killed while it attaches leaves a SIGSTOP behind, perhaps one that the process
    // has yet to see; SIGCONT takes both away. And a process that was stopped it may leave running.
    const bool ended_well = output.ok() && output->failure.empty();
    if (!ended_well) kill(pid, IsStopped(status) ? SIGSTOP : SIGCONT);

    if (!output.ok()) return Indented("no user-space stacks: " + Message(output.status()), "  ");
    std::string text = "  user-space stacks by " + argv[0] + ":\n" +
                       Indented(Cut(output->result, kShownStacks), "    ");
    if (!output->failure.empty()) text += "    " + argv[0] + " " + output->failure + "\n";
    if (!has_py_spy_ && IsPythons(pid)) text += kNoPySpy;
    if (!ended_well || output->result.empty()) text += Indented(output->said, "    ");
    return text;
  }

 private:
  bool Has(const std::string& program) const {
    return process::FindProgram(program, environment_.Get("PATH"), "/").ok();
  }

  static bool IsPythons(pid_t pid) {
    return IsPython(LinkTarget("/proc/" + std::to_string(pid) + "/exe"));
  }

  // Empty if there is none.
  std::vector<std::string> CommandFor(pid_t pid) const {
    const std::string number = std::to_string(pid);
    if (has_py_spy_ && IsPythons(pid)) {
      return {"py-spy", "dump", "--full-filenames", "--pid", number};
    }
    if (!has_gdb_) return {};
    return {"gdb", "-p", number, "-batch", "-nx", "-ex", "thread apply all bt"};
  }

  Supervisor& supervisor_;
  process::Environment environment_;
  milliseconds limit_;
  const base::Deadline deadline_ = base::Deadline::After(kAllProgramsLimit);
  const bool has_py_spy_ = Has("py-spy");
  const bool has_gdb_ = Has("gdb");
};

std::string ProcessText(pid_t pid, const TcpTraffic& traffic, StackPrograms& programs) {
  const std::string status = ProcFile("/proc/" + std::to_string(pid) + "/status");
  if (status.empty()) return "process " + std::to_string(pid) + " has ended\n";
  std::string text = base::Printable("process " + std::to_string(pid) + " (" +
                                     StateInWords(status) + "): " + CommandLine(pid, status)) +
                     "\n" + Indented("child of " + Field(status, "PPid"), "  ");
  const std::string tracer = TracerOf(status);
  if (!tracer.empty()) text += Indented("held by " + tracer, "  ");
  const std::string threads = ThreadsText(pid);
  text += threads;
  if (Field(status, "State").starts_with('Z')) return text;
  text += Indented(WorkSoFar(pid, traffic), "  ");
  if (!tracer.empty()) return text + "  no user-space stacks: " + tracer + " holds the process\n";
  if (IsFrozen(threads)) return text + "  no user-space stacks: the process is frozen\n";
  return text + programs.StacksOf(pid, status);
}

}  // namespace

std::string ProcessStacks(pid_t pid, Supervisor& supervisor,
                          const process::Environment& rank_environment,
                          milliseconds program_limit) {
  std::vector<pid_t> processes = process::Descendants(pid);
  processes.insert(processes.begin(), pid);
  StackPrograms programs(supervisor, rank_environment, program_limit);
  const TcpTraffic traffic = ReadTcpTraffic();
  std::string text = programs.has_any() ? "" : kNoProgram;
  for (const pid_t process : processes) {
    if (text.size() <= kLongestText) text += ProcessText(process, traffic, programs);
  }
  return base::ToUtf8(Cut(std::move(text), kLongestText));
}

}  // namespace autodist::agent
