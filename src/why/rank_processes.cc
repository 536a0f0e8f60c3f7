#include "why/rank_processes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "base/split.h"

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;

constexpr std::string_view kByPySpy = "  user-space stacks by py-spy:";
constexpr std::string_view kByGdb = "  user-space stacks by gdb:";
constexpr std::string_view kNone = "no user-space stacks: ";
constexpr std::string_view kWork = "  by ";
constexpr std::string_view kFile = "file: ";
constexpr std::string_view kSwitched = "switched ";
constexpr std::string_view kProgramsLines = "    ";  // come before each of them

void AddFrames(const std::vector<std::string_view>& programs_lines, Language language,
               RankProcess& process) {
  process.threads = Threads(programs_lines, language);
  const std::string program = language == Language::kPython ? "py-spy" : "gdb";
  if (!process.stack().frames.empty()) {
    process.source = program;
    return;
  }
  process.threads.clear();
  process.missing = program + " shows none" +
                    (programs_lines.empty() ? "" : ": " + std::string(programs_lines.back()));
}

// What is told of the main thread besides, below lines[at].
void ReadMainThread(const std::vector<std::string_view>& lines, size_t at, RankProcess& process) {
  for (++at; at < lines.size() && lines[at].starts_with(kProgramsLines); ++at) {
    const std::string_view line = lines[at].substr(kProgramsLines.size());
    if (line.starts_with(kFile)) process.file = line.substr(kFile.size());
    if (!line.starts_with(kSwitched)) continue;
    uint64_t switches = 0;
    const std::string_view digits = line.substr(kSwitched.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), switches);
    if (error == std::errc()) process.switches = switches;
  }
}

// Moves to behind the next number; nullopt: there is none.
std::optional<uint64_t> NextNumber(std::string_view& line) {
  constexpr std::string_view kDigits = "0123456789";
  line.remove_prefix(std::min(line.size(), line.find_first_of(kDigits)));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  return number;
}

std::optional<ProcessWork> ReadWork(std::string_view line) {
  ProcessWork work;
  for (uint64_t* value : {&work.at_ms, &work.cpu_ms, &work.main_thread_ms, &work.bytes}) {
    const auto number = NextNumber(line);
    if (!number) return std::nullopt;
    *value = *number;
  }
  return work;
}

// The process that begins at lines[at], which it moves to the next one.
RankProcess ReadProcess(const std::vector<std::string_view>& lines, size_t& at) {
  RankProcess process;
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
    } else if (line.starts_with(kWork)) {
      process.work = ReadWork(line);
    } else if (line.find(kNone) == 2) {
      process.missing = line.substr(2 + kNone.size());
    }
  }
  if (language) AddFrames(programs_lines, *language, process);
  return process;
}

}  // namespace

const ThreadStack& RankProcess::stack() const {
  static const ThreadStack no_frames;
  return threads.empty() ? no_frames : threads.front();
}

bool RankProcess::AwaitsAnother() const {
  return stack().frames.empty() ? state.find(" in do_wait") != std::string::npos
                                : stack().AwaitsProcess();
}

std::vector<RankProcess> ReadProcesses(std::string_view text) {
  const std::vector<std::string_view> lines = base::Lines(text);
  std::string missing;  // on the whole node
  size_t at = 0;
  for (; at < lines.size() && !lines[at].starts_with("process "); ++at) {
    if (lines[at].starts_with(kNone)) missing = lines[at].substr(kNone.size());
  }
  std::vector<RankProcess> processes;
  while (at < lines.size()) {
    const bool ended = lines[at].ends_with(" has ended");
    RankProcess process = ReadProcess(lines, at);
    if (ended) continue;
    if (!missing.empty() && process.missing.empty()) process.missing = missing;
    processes.push_back(std::move(process));
  }
  return processes;
}

const RankProcess* AtWork(const std::vector<RankProcess>& processes) {
  if (processes.empty()) return nullptr;
  const auto found = std::ranges::find_if_not(processes, &RankProcess::AwaitsAnother);
  return found == processes.end() ? &processes.front() : &*found;
}

}  // namespace autodist::why
