#include "why/collectives.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;
using Named = std::pair<std::string_view, std::string_view>;

// Beginnings of function names, in lower case without underscores; longer ones first.
constexpr std::array<Named, 21> kOperations = {{{"allreduce", "all-reduce"},
                                                {"allgather", "all-gather"},
                                                {"alltoall", "all-to-all"},
                                                {"reducescatter", "reduce-scatter"},
                                                {"monitoredbarrier", "barrier"},
                                                {"storebasedbarrier", "barrier"},
                                                {"ibarrier", "barrier"},
                                                {"barrier", "barrier"},
                                                {"broadcast", "broadcast"},
                                                {"bcast", "broadcast"},
                                                {"reduce", "reduce"},
                                                {"gather", "gather"},
                                                {"scatter", "scatter"},
                                                {"groupend", "group of NCCL's operations"},
                                                {"sendrecv", "send and receive"},
                                                {"send", "send"},
                                                {"recv", "receive"},
                                                {"waitforworkers", "init_process_group"},
                                                {"waitall", "MPI_Waitall"},
                                                {"wait", "MPI_Wait"},
                                                {"initprocessgroup", "init_process_group"}}};

// The files in which Python functions of these names are collectives.
constexpr std::array<std::string_view, 7> kPythonFiles = {
    "torch/distributed/distributed_c10d.py",
    "torch/distributed/_functional_collectives.py",
    "horovod/torch/mpi_ops.py",
    "horovod/tensorflow/mpi_ops.py",
    "mindspore/ops/communication.py",
    "paddle/distributed/communication/",
    "jax/experimental/multihost_utils.py"};
constexpr std::array<std::string_view, 3> kNativeScopes = {"gloo::", "c10d::", "Communicator::"};
constexpr std::array<std::string_view, 4> kNativePrefixes = {"PMPI_", "MPI_", "pnccl", "nccl"};

std::string Lowered(std::string_view name) {
  std::string lowered;
  for (const char c : name) {
    if (c != '_') {
      lowered += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return lowered;
}

std::string Operation(std::string_view name, bool mpi) {
  const std::string lowered = Lowered(name);
  for (const auto& [begin, operation] : kOperations) {
    if (!lowered.starts_with(begin) || (!mpi && (begin == "wait" || begin == "waitall"))) continue;
    return std::string(operation);
  }
  return "";
}

std::string OfPython(const StackFrame& frame) {
  const std::string file = ShortFile(frame.file, "");
  const bool is_there = std::ranges::any_of(
      kPythonFiles, [&](std::string_view one) { return file.starts_with(one); });
  if (!is_there) return "";
  const size_t dot = frame.function.rfind('.');
  return Operation(std::string_view(frame.function).substr(dot == std::string::npos ? 0 : dot + 1),
                   false);
}

std::string OfNative(const StackFrame& frame) {
  const std::string_view name = PlainName(frame.function);
  for (const std::string_view prefix : kNativePrefixes) {
    if (name.starts_with(prefix)) {
      return Operation(name.substr(prefix.size()), prefix.find("MPI") != std::string_view::npos);
    }
  }
  const size_t scope = name.rfind("::");
  if (scope == std::string_view::npos || name.find("transport::") != std::string_view::npos) {
    return "";
  }
  const bool is_there = std::ranges::any_of(kNativeScopes, [&](std::string_view one) {
    return name.substr(0, scope + 2).find(one) != std::string_view::npos;
  });
  return is_there ? Operation(name.substr(scope + 2), false) : "";
}

bool IsVowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }

bool IsFunction(const std::string& collective) { return collective.find('_') != std::string::npos; }

}  // namespace

std::string CollectiveOf(const ThreadStack& thread) {
  std::string outermost;
  for (const StackFrame& frame : thread.frames) {
    std::string found = thread.language == Language::kPython ? OfPython(frame) : OfNative(frame);
    if (!found.empty()) outermost = std::move(found);
  }
  return outermost;
}

bool AwaitsSomeCollective(const ThreadStack& thread) {
  return std::ranges::any_of(thread.frames, [](const StackFrame& frame) {
    return frame.function.starts_with("c10d::Work::wait") ||
           frame.function.starts_with("c10d::ProcessGroup") ||
           frame.function.starts_with("c10d::Reducer::finalize_backward");
  });
}

std::string WithArticle(const std::string& collective) {
  if (IsFunction(collective)) return collective;
  return (IsVowel(collective[0]) ? "an " : "a ") + collective;
}

std::string WithThe(const std::string& collective) {
  return IsFunction(collective) ? collective : "the " + collective;
}

}  // namespace autodist::why
