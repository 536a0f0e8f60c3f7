#include "chief/hang/stack_summary.h"

#include <optional>
#include <vector>

#include "base/split.h"
#include "base/utf8.h"
#include "chief/hang/stack_frames.h"

namespace autodist::chief {
namespace {

constexpr size_t kLongest = 200;  // bytes of what is said of a frame

constexpr std::string_view kByPySpy = "  user-space stacks by py-spy:";
constexpr std::string_view kByGdb = "  user-space stacks by gdb:";
constexpr std::string_view kNone = "no user-space stacks: ";
constexpr std::string_view kProgramsLines = "    ";  // come before each of them

// For a line: of untrusted origin, and perhaps of a template's size.
std::string Shown(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return base::Printable(text);
}

std::string FrameText(const StackFrame& frame, const std::string& folder) {
  const std::string file = ShortFile(frame.file, folder);
  return Shown(
      frame.function +
      (file.empty() ? "" : " (" + file + (frame.line.empty() ? "" : ":" + frame.line) + ")"));
}

// One process of the rank.
struct Process {
  std::string state;    // of its main thread
  std::string missing;  // why it has no frames, or no frames of Python's
  ThreadStack stack;
};

// The process that begins at lines[at], which it moves to the next one.
Process ReadProcess(const std::vector<std::string_view>& lines, size_t& at) {
  Process process;
  std::optional<ThreadStack::Language> language;
  std::vector<std::string_view> programs_lines;
  for (++at; at < lines.size() && !lines[at].starts_with("process "); ++at) {
    const std::string_view line = lines[at];
    if (line == kByPySpy || line == kByGdb) {
      language = line == kByPySpy ? ThreadStack::Language::kPython : ThreadStack::Language::kNative;
    } else if (language && line.starts_with(kProgramsLines)) {
      programs_lines.push_back(line.substr(kProgramsLines.size()));
    } else if (line.starts_with("  thread ") && process.state.empty()) {
      const size_t state = line.find("): ");
      if (state != std::string_view::npos) process.state = line.substr(state + 3);
    } else if (line.find(kNone) == 2) {
      process.missing = line.substr(2 + kNone.size());
    }
  }
  if (!language) return process;
  process.stack = MainThread(programs_lines, *language);
  if (process.stack.frames.empty()) {
    process.missing = std::string(*language == ThreadStack::Language::kPython ? "py-spy" : "gdb") +
                      " shows none" +
                      (programs_lines.empty() ? "" : ": " + std::string(programs_lines.back()));
  }
  return process;
}

bool AwaitsAnother(const Process& process) {
  return process.stack.frames.empty() ? process.state.find(" in do_wait") != std::string::npos
                                      : process.stack.AwaitsProcess();
}

StackSummary Summary(const Process& process, const std::string& folder) {
  StackSummary summary;
  const std::vector<StackFrame>& frames = process.stack.frames;
  size_t telling = process.stack.Telling();
  if (telling == frames.size() && process.missing.empty()) telling = process.stack.Named();
  if (telling == frames.size()) {
    summary.doing = process.state.empty() ? "nothing that could be read" : Shown(process.state);
    summary.missing = process.missing.empty() ? "no frame has a name" : Shown(process.missing);
    return summary;
  }
  summary.doing = FrameText(frames[telling], folder);
  const size_t own = process.stack.UsersOwn(telling);
  if (own < frames.size() && own != telling) summary.called_by = FrameText(frames[own], folder);
  return summary;
}

}  // namespace

StackSummary SummaryOf(std::string_view text, const std::string& folder) {
  const std::vector<std::string_view> lines = base::Lines(text);
  std::string missing;  // on the whole node
  size_t at = 0;
  for (; at < lines.size() && !lines[at].starts_with("process "); ++at) {
    if (lines[at].starts_with(kNone)) missing = lines[at].substr(kNone.size());
  }
  std::optional<Process> chosen;
  while (at < lines.size()) {
    const bool ended = lines[at].ends_with(" has ended");
    Process process = ReadProcess(lines, at);
    if (ended) continue;
    if (!missing.empty() && process.missing.empty()) process.missing = missing;
    const bool last = !AwaitsAnother(process);
    if (last || !chosen) chosen = std::move(process);
    if (last) break;
  }
  return chosen ? Summary(*chosen, folder) : StackSummary{"ending", "", "its process has ended"};
}

}  // namespace autodist::chief
