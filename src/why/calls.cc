#include "why/calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/utf8.h"
#include "why/doing.h"
#include "why/stack_summary.h"

namespace autodist::why {
namespace {

constexpr size_t kMaxCallName = 80;  // bytes that are shown

// Where PyTorch waits for other ranks without a frame of a collective. DDP reduces the gradients at
// the end of a backward pass, and copies buffers in a forward pass.
struct PassOfDdp {
  std::string_view begin;  // of a Python file as ShortFile names it, or of a native function
  std::string_view name;
};
constexpr std::array<PassOfDdp, 3> kPasses = {{{"torch/autograd/", "backward"},
                                               {"torch/nn/parallel/", "forward"},
                                               {"c10d::Reducer::finalize_backward", "backward"}}};

// "": none.
std::string PassOf(const ThreadStack& stack) {
  const bool python = stack.language == ThreadStack::Language::kPython;
  for (const StackFrame& frame : stack.frames) {
    const std::string at = python ? ShortFile(frame.file, "") : frame.function;
    for (const PassOfDdp& pass : kPasses) {
      if (at.starts_with(pass.begin)) return std::string(pass.name);
    }
  }
  return "";
}

// The outermost Python function that is a collective; "": none.
std::string CollectiveFunction(const ThreadStack& stack) {
  std::string_view name;
  if (stack.language != ThreadStack::Language::kPython) return "";
  for (const StackFrame& frame : stack.frames) {
    if (!CollectiveIn(frame, stack.language).empty()) name = MethodOf(frame);
  }
  return base::Printable(base::Truncated(name, kMaxCallName));
}

// Gloo exports its operations except the all-reduce, which therefore has no named frame in gdb.
bool RunsUnnamedGlooOperation(const RankProcess& process) {
  return std::ranges::any_of(process.threads, [](const ThreadStack& thread) {
    const auto has = [&](std::string_view begin) {
      return std::ranges::any_of(thread.frames, [&](const StackFrame& frame) {
        return frame.function.starts_with(begin);
      });
    };
    return has("c10d::ProcessGroupGloo::AsyncWork::execute") && has("gloo::transport::");
  });
}

}  // namespace

Call CallOf(const RankProcess& process, const std::string& collective, const std::string& folder) {
  const ThreadStack& stack = process.stack();
  Call call;
  const size_t user = stack.UserFrame(0);
  if (user < stack.frames.size()) call.line = LineText(stack.frames[user], folder);
  call.name = CollectiveFunction(stack);
  call.kind = collective;
  if (call.name.empty()) {
    const std::string pass = PassOf(stack);
    if (!pass.empty()) call.kind = pass;
    call.name = call.kind == pass ? pass : WithArticle(collective);
  }
  if (call.kind.empty() && RunsUnnamedGlooOperation(process)) {
    call.kind = "unnamed operation of Gloo";
    call.name = "another collective";
  }
  return call;
}

std::string CallText(const Call& call) {
  return call.name + (call.line.empty() ? "" : " (" + call.line + ")");
}

}  // namespace autodist::why
