#include "agent/stacks/stack_programs.h"

#include <cxxabi.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "agent/sample/processes.h"
#include "agent/stacks/mapped_code.h"
#include "agent/supervisor/run_program.h"
#include "base/fd.h"
#include "base/parse_number.h"
#include "base/python_command.h"
#include "process/spawn.h"

namespace autodist::agent {
namespace {

constexpr std::string_view kBegin = "autodist: begin ";
constexpr std::string_view kEnd = "autodist: end ";
constexpr std::string_view kThread = "Thread ";
// The distance between files, larger than any library.
constexpr uint64_t kFileDistance = uint64_t{1} << 36;
constexpr size_t kMaxNameLength = 4096;  // of a name that is demangled

bool IsPlain(std::string_view file) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/._-+=,:").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return file.starts_with('/') && std::ranges::all_of(file, plain);
}

bool IsOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$';
}

// "autodist: begin 4711\n"
std::string Echo(std::string_view label, const std::string& process) {
  return "echo " + std::string(label) + process + "\\n";
}

std::optional<pid_t> After(std::string_view label, std::string_view line) {
  if (!line.starts_with(label)) return std::nullopt;
  line.remove_prefix(label.size());
  return base::ParseNumber<pid_t>(line);
}

// Returns "1 (LWP 7)" of "2.1 (LWP 7)", gdb's numbering of threads with several inferiors.
std::string_view WithoutInferior(std::string_view number_and_more) {
  const size_t end = std::min(number_and_more.size(), number_and_more.find(' '));
  const size_t point = number_and_more.substr(0, end).find('.');
  if (point != std::string_view::npos) number_and_more.remove_prefix(point + 1);
  return number_and_more;
}

std::string DemangledName(std::string_view name) {
  if (name.size() > kMaxNameLength) return std::string(name);
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, nullptr), std::free);
  return demangled ? demangled.get() : std::string(name);
}

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kAllProgramsLimit{60};  // no program is started later
constexpr milliseconds kUninterruptibleLimit{3'000};
constexpr milliseconds kForAnother{1000};   // additional time of gdb for each process but the first
constexpr uint64_t kLargeCode = 1 << 19;    // gdb reads the symbols of smaller ones quickly
constexpr size_t kShownStacks = 256 << 10;  // bytes, of one process
constexpr char kNoPySpy[] =
    "  no user-space stacks of Python: py-spy (pip install py-spy), which shows Python's, is not "
    "installed on this node\n";
constexpr char kNoProgram[] =
    "no user-space stacks: neither py-spy (pip install py-spy) nor gdb is installed on this node\n";
constexpr char kNotRequested[] = "no user-space stacks: none were requested\n";
constexpr char kOnlyPySpy[] =
    "no user-space stacks: py-spy (pip install py-spy) is not installed on this node, and gdb was "
    "not requested\n";
constexpr char kQuicker[] = "; py-spy (pip install py-spy) is quicker, of a Python";
// The reason precedes it.
constexpr std::string_view kNotAttached = "The program is not being run.";

// Other variables of the rank are for its program only: PYTHONHOME breaks gdb.
process::Environment EnvironmentFor(const process::Environment& rank_environment) {
  process::Environment environment = process::Environment::CleanLogin(rank_environment);
  environment.Set("PATH", rank_environment.Get("PATH"));
  return environment;
}

bool IsPythons(pid_t pid) {
  return base::IsPython(base::LinkTarget("/proc/" + std::to_string(pid) + "/exe"));
}

// Returns the files with large code mappings.
std::vector<std::string> LargeFilesOf(const std::vector<LookedAt>& processes) {
  std::map<std::string, uint64_t> sizes;
  for (const LookedAt& process : processes) {
    for (const MappedCode& code : MappedCodeOf("/proc/" + std::to_string(process.pid))) {
      uint64_t& size = sizes[code.file];
      size = std::max(size, code.size);
    }
  }
  std::vector<std::string> files;
  for (const auto& [file, size] : sizes) {
    if (size >= kLargeCode) files.push_back(file);
  }
  return files;
}

std::string Section(const std::string& program, std::string text) {
  return std::string(kShownBy) + program + ":\n" +
         Indented(Cut(std::move(text), kShownStacks), "    ");
}

std::string NoStacks(const std::string& reason) {
  return Indented("no user-space stacks: " + reason, "  ");
}

}  // namespace

std::vector<std::string> GdbCommand(const std::vector<pid_t>& processes,
                                    const std::vector<std::string>& files) {
  // Otherwise gdb spends more than half of the time demangling the names of all functions.
  std::vector<std::string> argv = {"gdb", "-batch", "-nx", "-iex", "set demangle-style none"};
  uint64_t offset = kFileDistance;
  for (const std::string& file : files) {
    if (!IsPlain(file)) continue;
    const std::string address = std::to_string(offset);
    argv.insert(argv.end(), {"-ex", "add-symbol-file " + file + " -o " + address});
    offset += kFileDistance;
  }
  // Each process gets a separate gdb "inferior"; the files belong to the first.
  size_t inferior = 1;
  for (const pid_t pid : processes) {
    const std::string number = std::to_string(pid);
    for (const std::string& command :
         {std::string("add-inferior"), "inferior " + std::to_string(++inferior),
          Echo(kBegin, number), "attach " + number, std::string("thread apply all bt"),
          std::string("detach"), Echo(kEnd, number)}) {
      argv.insert(argv.end(), {"-ex", command});
    }
  }
  return argv;
}

std::map<pid_t, GdbStacks> ReadGdbStacks(std::string_view output) {
  std::map<pid_t, GdbStacks> stacks;
  GdbStacks* current = nullptr;
  for (const std::string_view line : base::Lines(output)) {
    if (const auto begun = After(kBegin, line)) {
      current = &stacks[*begun];
      continue;
    }
    if (!current) continue;
    if (After(kEnd, line)) {
      current->ended = true;
      current = nullptr;
      continue;
    }
    current->frames = current->frames || line.starts_with("#0 ");
    const bool begins_thread = line.starts_with(kThread);
    if (begins_thread) current->text += kThread;
    current->text +=
        Demangled(begins_thread ? WithoutInferior(line.substr(kThread.size())) : line) + "\n";
  }
  return stacks;
}

std::string Demangled(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t found = std::min(text.size(), text.find("_Z"));
    const bool inside = found > 0 && IsOfName(text[found - 1]);  // "not_Zeros"
    result += text.substr(0, found);
    text.remove_prefix(found);
    const auto* end = std::ranges::find_if_not(text, IsOfName);
    const std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
    result += inside ? std::string(name) : DemangledName(name);
    text.remove_prefix(name.size());
  }
  return result;
}

uint64_t StartTime(pid_t pid) {
  return ReadProcessStat("/proc/" + std::to_string(pid)).value_or(ProcessStat{}).started;
}

StackPrograms::StackPrograms(Supervisor& supervisor, const process::Environment& rank_environment,
                             const StackOptions& options)
    : supervisor_(supervisor),
      environment_(EnvironmentFor(rank_environment)),
      options_(options),
      deadline_(base::Deadline::After(kAllProgramsLimit)),
      has_py_spy_(options.programs != v1::CollectStacks::PROGRAMS_NONE && Has("py-spy")),
      has_gdb_(options.programs == v1::CollectStacks::PROGRAMS_UNSPECIFIED && Has("gdb")) {}

std::string StackPrograms::WhyNone() const {
  if (has_py_spy_ || has_gdb_) return "";
  if (options_.programs == v1::CollectStacks::PROGRAMS_NONE) return kNotRequested;
  return options_.programs == v1::CollectStacks::PROGRAMS_QUICK ? kOnlyPySpy : kNoProgram;
}

bool StackPrograms::Has(const std::string& program) const {
  return process::FindProgram(program, environment_.Get("PATH"), "/").ok();
}

bool StackPrograms::IsSuspended(pid_t pid) const {
  if (!supervisor_.suspended()) return false;
  const pid_t group = getpgid(pid);
  return std::ranges::any_of(supervisor_.RunningRanks(),
                             [group](const auto& rank) { return rank.second == group; });
}

// A program that is killed while it attaches may leave a pending SIGSTOP, which SIGCONT removes. It
// may also resume a process that was stopped before. Repeats if the job is suspended or continued
// meanwhile, because this signal may be the later one.
void StackPrograms::LeaveAsItWas(const LookedAt& process) const {
  bool suspended = false;
  do {
    if (StartTime(process.pid) != process.started) return;
    suspended = IsSuspended(process.pid);
    kill(process.pid, suspended || process.stopped ? SIGSTOP : SIGCONT);
  } while (suspended != IsSuspended(process.pid));
}

std::map<pid_t, std::string> StackPrograms::StacksOf(const std::vector<LookedAt>& processes) {
  std::map<pid_t, std::string> texts;
  std::map<pid_t, std::string> failures;  // of py-spy, instead of which gdb is used
  std::vector<LookedAt> for_gdb;
  for (const LookedAt& process : processes) {
    if (has_py_spy_ && IsPythons(process.pid)) {
      PySpyStacks shown = ByPySpy(process);
      if (shown.failure.empty() || !has_gdb_ || process.uninterruptible) {
        texts[process.pid] = std::move(shown.text);
      } else {
        failures[process.pid] = std::move(shown.failure);
        for_gdb.push_back(process);
      }
    } else if (has_gdb_) {
      for_gdb.push_back(process);
    } else if (has_py_spy_) {
      texts[process.pid] =
          NoStacks(options_.programs == v1::CollectStacks::PROGRAMS_QUICK ? "gdb was not requested"
                                                                          : "gdb is not installed");
    }
  }
  texts.merge(ByGdb(for_gdb));
  for (const auto& [pid, failure] : failures) {
    texts[pid] += Indented("no user-space stacks of Python: py-spy " + failure, "  ");
  }
  return texts;
}

StackPrograms::PySpyStacks StackPrograms::ByPySpy(const LookedAt& process) {
  if (deadline_.Expired()) return {NoStacks("the looks before took too long"), ""};
  const std::vector<std::string> argv = {"py-spy", "dump", "--full-filenames", "--pid",
                                         std::to_string(process.pid)};
  // A process in the kernel may never let py-spy attach.
  const milliseconds limit =
      process.uninterruptible ? std::min(options_.limit, kUninterruptibleLimit) : options_.limit;
  const auto output = RunProgram({argv, environment_, "/"}, limit, supervisor_);
  const bool ended_well = output.ok() && output->failure.empty();
  if (!ended_well) LeaveAsItWas(process);
  if (!output.ok()) return {NoStacks(Message(output.status())), ""};
  std::string text = Section("py-spy", output->result);
  if (!ended_well) text += "    py-spy " + output->failure + "\n";
  if (!ended_well || output->result.empty()) text += Indented(output->said, "    ");
  const bool has_frames =
      ("\n" + output->result).find("\n" + std::string(kThread)) != std::string::npos;
  if (has_frames || output->timed_out) return {std::move(text), ""};
  return {std::move(text), ended_well ? "shows no frames" : output->failure};
}

std::map<pid_t, std::string> StackPrograms::ByGdb(const std::vector<LookedAt>& processes) {
  if (processes.empty()) return {};
  std::map<pid_t, std::string> texts;
  const auto none = [&](const std::string& reason) {
    for (const LookedAt& process : processes) texts[process.pid] = NoStacks(reason);
    return texts;
  };
  if (deadline_.Expired()) return none("the looks before took too long");

  std::vector<LookedAt> ordered = processes;
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const LookedAt& process) { return !process.uninterruptible; });
  std::vector<pid_t> pids;
  pids.reserve(ordered.size());
  for (const LookedAt& process : ordered) pids.push_back(process.pid);
  const milliseconds limit = std::min<milliseconds>(
      options_.limit + kForAnother * (processes.size() - 1), kAllProgramsLimit);
  const auto output = RunProgram({GdbCommand(pids, LargeFilesOf(processes)), environment_, "/"},
                                 limit, supervisor_);
  std::map<pid_t, GdbStacks> stacks;
  if (output.ok()) stacks = ReadGdbStacks(output->result);
  for (const LookedAt& process : processes) {
    if (!stacks[process.pid].ended) LeaveAsItWas(process);
  }
  if (!output.ok()) return none(Message(output.status()));

  std::string said = output->said;
  if (said.ends_with(kNotAttached)) said.resize(said.size() - kNotAttached.size());
  const std::string hint = has_py_spy_ ? "" : kQuicker;
  for (const LookedAt& process : processes) {
    const GdbStacks& shown = stacks[process.pid];
    std::string& text = texts[process.pid];
    text = Section("gdb", shown.text);
    if (!shown.ended && !output->failure.empty()) {
      text += NoStacks("gdb " + output->failure + hint);
    } else if (IsPythons(process.pid) && !has_py_spy_) {
      text += kNoPySpy;
    }
    if (!shown.frames) text += Indented(said, "    ");
  }
  return texts;
}

}  // namespace autodist::agent
