#include "why/stack_summary.h"

#include "base/utf8.h"
#include "why/stack_frames.h"

namespace autodist::why {
namespace {

constexpr size_t kLongest = 200;  // max bytes of a frame that are shown

// Makes untrusted text, which may be the name of a template, fit a line.
std::string Shown(const std::string& text) {
  return base::Printable(base::Truncated(text, kLongest));
}

// "lib/steps.py:41"; "": unknown.
std::string FileAndLine(const StackFrame& frame, const std::string& folder) {
  const std::string file = ShortFile(frame.file, folder);
  return file.empty() || frame.line.empty() ? file : file + ":" + frame.line;
}

}  // namespace

std::string LineText(const StackFrame& frame, const std::string& folder) {
  return Shown(FileAndLine(frame, folder));
}

std::string FrameText(const StackFrame& frame, const std::string& folder) {
  const std::string at = FileAndLine(frame, folder);
  return Shown(frame.function + (at.empty() ? "" : " (" + at + ")"));
}

StackSummary SummaryOf(const RankProcess& process, const std::string& folder) {
  StackSummary summary;
  summary.source = process.source;
  const ThreadStack& stack = process.stack();
  const std::vector<StackFrame>& frames = stack.frames;
  size_t telling = stack.Informative();
  if (telling == frames.size() && process.missing.empty()) telling = stack.Named();
  if (telling == frames.size()) {
    summary.doing = process.state.empty() ? "nothing that could be read" : Shown(process.state);
    summary.missing = process.missing.empty() ? "no frame has a name" : Shown(process.missing);
    return summary;
  }
  summary.doing = FrameText(frames[telling], folder);
  const size_t own = stack.UserFrame(telling);
  if (own < frames.size() && own != telling) summary.called_by = FrameText(frames[own], folder);
  return summary;
}

StackSummary SummaryOf(std::string_view text, const std::string& folder) {
  const std::vector<RankProcess> processes = ReadProcesses(text);
  const RankProcess* process = AtWork(processes);
  return process ? SummaryOf(*process, folder) : StackSummary{"", "", "its process has ended"};
}

}  // namespace autodist::why
