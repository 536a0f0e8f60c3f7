#include "why/rank_processes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/split.h"

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;

constexpr std::string_view kByPySpy = "  user-space stacks by py-spy:";
constexpr std::string_view kByGdb = "  user-space stacks by gdb:";
constexpr std::string_view kNone = "no user-space stacks: ";
constexpr std::string_view kNoneOfPython = "no user-space stacks of Python: ";
constexpr std::string_view kWork = "  by ";
constexpr std::string_view kFile = "file: ";
constexpr std::string_view kStack = "  stack: ";
constexpr std::string_view kSwitched = "switched ";
constexpr std::string_view kChildOf = "  child of ";
constexpr std::string_view kEndedMeanwhile = "  has ended meanwhile";
constexpr std::string_view kHeldBy = "  held by ";
constexpr std::string_view kSentAgain = "  sent again to ";
constexpr std::string_view kCountedBy = "counted by ";
constexpr std::string_view kConnecting = "  connecting to ";
constexpr std::string_view kConnectedAt = "  connected at ";
constexpr std::string_view kConnections = "connections to ";
constexpr std::string_view kOtherProgram = "other program: ";
// Limits for texts of a hostile node: some costs grow with their squares.
constexpr size_t kMaxProcesses = 512;
constexpr size_t kMaxCounts = 1024;
constexpr size_t kMaxOperations = 64;
constexpr size_t kMaxPeers = 4096;
constexpr std::string_view kProgramsLines = "    ";  // indentation of each program's lines

void AddFrames(const std::vector<std::string_view>& programs_lines, Language language,
               RankProcess& process) {
  process.threads = Threads(programs_lines, language);
  const std::string program = language == Language::kPython ? "py-spy" : "gdb";
  if (!process.stack().frames.empty()) {
    process.source = program;
    return;
  }
  process.threads.clear();
  if (!process.missing.empty()) return;  // a missing py-spy is the better explanation
  process.missing = program + " shows none" +
                    (programs_lines.empty() ? "" : ": " + std::string(programs_lines.back()));
}

// "2656 bytes deep, at f16, code 3fa2b1"
std::optional<StackDepth> ReadDepth(std::string_view line) {
  constexpr std::string_view kAt = " bytes deep, at ";
  constexpr std::string_view kCode = ", code ";
  const auto bytes = base::TakeNumber<uint64_t>(line);
  const size_t code = line.find(kCode);
  if (!bytes || !line.starts_with(kAt) || code == line.npos || code == kAt.size() ||
      code + kCode.size() == line.size()) {
    return std::nullopt;
  }
  return StackDepth{*bytes, std::string(line.substr(kAt.size(), code - kAt.size())),
                    std::string(line.substr(code + kCode.size()))};
}

// Reads the facts about the main thread, in the lines below lines[at].
void ReadMainThread(const std::vector<std::string_view>& lines, size_t at, RankProcess& process) {
  for (++at; at < lines.size() && lines[at].starts_with(kProgramsLines); ++at) {
    const std::string_view line = lines[at].substr(kProgramsLines.size());
    if (line.starts_with(kFile)) process.file = line.substr(kFile.size());
    if (!line.starts_with(kSwitched)) continue;
    std::string_view digits = line.substr(kSwitched.size());
    if (const auto switches = base::TakeNumber<uint64_t>(digits)) process.switches = switches;
  }
}

// Moves past the next number; nullopt: no number follows.
std::optional<uint64_t> NextNumber(std::string_view& line) {
  constexpr std::string_view kDigits = "0123456789";
  line.remove_prefix(std::min(line.size(), line.find_first_of(kDigits)));
  return base::TakeNumber<uint64_t>(line);
}

std::optional<ProcessWork> ReadWork(std::string_view line) {
  ProcessWork work;
  for (uint64_t* value : {&work.at_ms, &work.cpu_ms, &work.main_thread_ms, &work.bytes}) {
    const auto number = NextNumber(line);
    if (!number) return std::nullopt;
    *value = *number;
  }
  work.read = NextNumber(line).value_or(0);
  work.written = NextNumber(line).value_or(0);
  return work;
}

// "10.0.0.3: 4 of 170 segments, unanswered 2"
std::optional<SentAgain> ReadSentAgain(std::string_view text) {
  const size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  SentAgain sent;
  sent.peer = text.substr(0, colon);
  text.remove_prefix(colon);
  for (uint64_t* value : {&sent.again, &sent.sent, &sent.unanswered}) {
    const auto number = NextNumber(text);
    if (!number) return std::nullopt;
    *value = *number;
  }
  return sent;
}

// "10.0.0.3:5000: sent again 2 times": the destination and the number; the rest stays in `text`.
std::optional<std::pair<std::string, uint64_t>> TakeDestination(std::string_view& text) {
  const size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  std::string destination(text.substr(0, colon));
  text.remove_prefix(colon);
  const auto number = NextNumber(text);
  if (!number) return std::nullopt;
  return std::pair(std::move(destination), *number);
}

// "all_reduce of [4] < broadcast of [2]"
std::vector<std::string> ReadOperations(std::string_view text) {
  constexpr std::string_view kBefore = " < ";
  std::vector<std::string> operations;
  while (!text.empty() && operations.size() < kMaxOperations) {
    operations.emplace_back(text.substr(0, text.find(kBefore)));
    text.remove_prefix(std::min(text.size(), operations.back().size() + kBefore.size()));
  }
  return operations;
}

// "counted by NCCL for process 4711: group 0x1f of 4: 17 entered, 16 ended; AllReduce 17"
std::optional<GroupCount> ReadGroupCount(std::string_view line) {
  constexpr std::string_view kGroup = ": group ";
  const size_t group = line.find(kGroup);
  const size_t numbers = line.find(": ", std::min(line.size(), group + kGroup.size()));
  if (group == std::string_view::npos || numbers == std::string_view::npos) return std::nullopt;
  GroupCount count;
  std::string_view source = line.substr(kCountedBy.size(), group - kCountedBy.size());
  count.source = source.substr(0, source.find(" for process "));
  count.pid = NextNumber(source).value_or(0);
  count.group = line.substr(group + kGroup.size(), numbers - group - kGroup.size());
  count.group.resize(std::min(count.group.rfind(" of "), count.group.size()));
  const size_t what = line.find("; ", numbers);
  if (what != std::string_view::npos) count.what = ReadOperations(line.substr(what + 2));
  line.remove_prefix(numbers);
  const auto entered = NextNumber(line);
  if (!entered) return std::nullopt;
  count.entered = *entered;
  constexpr std::string_view kLast = ", the last ";
  const size_t last = line.substr(0, line.find("; ")).find(kLast);
  if (last == std::string_view::npos) return count;
  line.remove_prefix(last + kLast.size());
  count.last_ago_ms = NextNumber(line);
  return count;
}

// Reads the facts about a process other than its threads and stacks.
void ReadFacts(std::string_view line, RankProcess& process) {
  if (line.starts_with(kChildOf)) {
    process.parent = NextNumber(line).value_or(0);
  } else if (line == kEndedMeanwhile) {
    process.ended = true;
  } else if (line.starts_with(kHeldBy)) {
    process.holder = line.substr(kHeldBy.size());
  } else if (line.starts_with(kStack)) {
    process.depth = ReadDepth(line.substr(kStack.size()));
  } else if (line.starts_with(kWork)) {
    process.work = ReadWork(line);
  } else if (line.starts_with(kSentAgain)) {
    if (process.sent_again.size() == kMaxPeers) return;
    if (auto sent = ReadSentAgain(line.substr(kSentAgain.size()))) {
      process.sent_again.push_back(*std::move(sent));
    }
  } else if (line.starts_with(kConnecting)) {
    std::string_view rest = line.substr(kConnecting.size());
    const auto to = TakeDestination(rest);
    if (to && process.connecting.size() < kMaxPeers) {
      process.connecting.push_back({to->first, to->second});
    }
  } else if (line.starts_with(kConnectedAt)) {
    for (const std::string_view end : base::Split(line.substr(kConnectedAt.size()), ' ')) {
      if (process.own_ends.size() < kMaxPeers) process.own_ends.emplace_back(end);
    }
  } else if (line.find(kNone) == 2) {
    process.missing = line.substr(2 + kNone.size());
  } else if (line.find(kNoneOfPython) == 2) {
    process.missing = line.substr(2 + kNoneOfPython.size());
  }
}

// "process 100 (sleeping): python3 train.py"
RankProcess ProcessOf(std::string_view line) {
  RankProcess process;
  process.ended = line.ends_with(" has ended");
  const size_t command = line.find("): ");
  if (command != std::string_view::npos) process.command = line.substr(command + 3);
  process.pid = NextNumber(line).value_or(0);
  return process;
}

// Reads the process that begins at lines[at], and moves `at` to the next one.
RankProcess ReadProcess(const std::vector<std::string_view>& lines, size_t& at) {
  RankProcess process = ProcessOf(lines[at]);
  std::optional<Language> language;
  std::vector<std::string_view> programs_lines;
  for (++at; at < lines.size() && !lines[at].starts_with("process "); ++at) {
    const std::string_view line = lines[at];
    if (line == kByPySpy || line == kByGdb) {
      language = line == kByPySpy ? Language::kPython : Language::kNative;
    } else if (language && line.starts_with(kProgramsLines)) {
      programs_lines.push_back(line.substr(kProgramsLines.size()));
    } else if (line.starts_with("  thread ") && process.state.empty()) {
      const size_t state = line.find("): ");
      if (state != std::string_view::npos) process.state = line.substr(state + 3);
      ReadMainThread(lines, at, process);
    } else {
      ReadFacts(line, process);
    }
  }
  process.ended |= process.state.starts_with("zombie");
  if (language) AddFrames(programs_lines, *language, process);
  return process;
}

// Returns the facts about the rank as a whole; those about its processes may be much longer.
std::string_view BeforeProcesses(std::string_view text) {
  constexpr std::string_view kProcess = "process ";
  if (text.starts_with(kProcess)) return "";
  return text.substr(0, text.find("\n" + std::string(kProcess)));
}

}  // namespace

const ThreadStack& RankProcess::stack() const {
  static const ThreadStack no_frames;
  return threads.empty() ? no_frames : threads.front();
}

std::string RankProcess::ProgramName() const {
  const std::string path = command.substr(0, command.find(' '));
  return path.substr(path.rfind('/') + 1);
}

bool RankProcess::IsShell() const {
  constexpr std::array<std::string_view, 6> kShells = {"sh", "dash", "ash", "bash", "ksh", "zsh"};
  return std::ranges::count(kShells, ProgramName()) > 0;
}

bool RankProcess::AwaitsAnother() const {
  if (!stack().frames.empty()) return stack().AwaitsProcess();
  // dash and others wait for SIGCHLD.
  return StateHas(" in do_wait") || (IsShell() && StateHas("sigsuspend"));
}

std::vector<RankProcess> ReadProcesses(std::string_view text) {
  const std::vector<std::string_view> lines = base::Lines(text);
  std::string missing;  // for the whole node
  size_t at = 0;
  for (; at < lines.size() && !lines[at].starts_with("process "); ++at) {
    if (lines[at].starts_with(kNone)) missing = lines[at].substr(kNone.size());
  }
  std::vector<RankProcess> processes;
  while (at < lines.size() && processes.size() < kMaxProcesses) {
    RankProcess process = ReadProcess(lines, at);
    if (process.ended && process.stack().frames.empty()) continue;
    if (!missing.empty() && process.missing.empty()) process.missing = missing;
    processes.push_back(std::move(process));
  }
  return processes;
}

std::vector<GroupCount> ReadGroupCounts(std::string_view text) {
  std::vector<GroupCount> counts;
  for (const std::string_view line : base::Lines(BeforeProcesses(text))) {
    if (!line.starts_with(kCountedBy) || counts.size() == kMaxCounts) continue;
    if (auto count = ReadGroupCount(line)) counts.push_back(*std::move(count));
  }
  return counts;
}

NodeFacts ReadNodeFacts(std::string_view text) {
  NodeFacts facts;
  for (const std::string_view line : base::Lines(BeforeProcesses(text))) {
    if (line.starts_with(kConnections)) {
      std::string_view rest = line.substr(kConnections.size());
      const auto to = TakeDestination(rest);
      if (to && facts.failed.size() < kMaxPeers) {
        facts.failed.push_back({to->first, to->second, rest == " refused"});
      }
    } else if (line.starts_with(kOtherProgram) && facts.other_program.empty()) {
      facts.other_program = line.substr(kOtherProgram.size());
    }
  }
  return facts;
}

const RankProcess* AtWork(const std::vector<RankProcess>& processes) {
  if (processes.empty()) return nullptr;
  const auto found = std::ranges::find_if_not(processes, &RankProcess::AwaitsAnother);
  return found == processes.end() ? &processes.front() : &*found;
}

}  // namespace autodist::why
