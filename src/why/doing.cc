#include "why/doing.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;
using Named = std::pair<std::string_view, std::string_view>;

// Beginnings of function names, in lower case without underscores; longer ones first.
constexpr std::array<Named, 23> kOperations = {{{"allreduce", "all-reduce"},
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
                                                {"newgroup", "new_group"},
                                                {"processgroup", "set-up of a process group"},
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
  return is_there ? Operation(MethodOf(frame), false) : "";
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

struct Place {
  std::string_view begin;     // of a file as ShortFile names it
  std::string_view function;  // a part of the name; "": any
  Doing doing;
};

constexpr std::array<Place, 22> kPlaces = {{
    {"torch/serialization.py", "save", Doing::kCheckpoint},
    {"torch/distributed/checkpoint/", "", Doing::kCheckpoint},
    {"safetensors/", "save", Doing::kCheckpoint},
    {"transformers/", "save_pretrained", Doing::kCheckpoint},
    {"transformers/trainer.py", "_save_checkpoint", Doing::kCheckpoint},
    {"lightning/", "save_checkpoint", Doing::kCheckpoint},
    {"pytorch_lightning/", "save_checkpoint", Doing::kCheckpoint},
    {"orbax/", "save", Doing::kCheckpoint},
    {"mindspore/train/serialization.py", "save", Doing::kCheckpoint},
    {"deepspeed/", "save_checkpoint", Doing::kCheckpoint},
    {"torch/_inductor/", "", Doing::kCompile},
    {"torch/_dynamo/convert_frame.py", "", Doing::kCompile},
    {"torch/utils/cpp_extension.py", "", Doing::kCompile},
    {"triton/compiler/", "", Doing::kCompile},
    {"jax/_src/compiler.py", "", Doing::kCompile},
    {"jax/_src/compilation_cache.py", "", Doing::kCompile},
    {"mindspore/common/api.py", "compile", Doing::kCompile},
    {"tvm/", "build", Doing::kCompile},
    {"torch/utils/data/", "", Doing::kDataLoader},
    {"mindspore/dataset/", "", Doing::kDataLoader},
    {"tensorflow/python/data/", "", Doing::kDataLoader},
    {"datasets/iterable_dataset.py", "", Doing::kDataLoader},
}};

struct Waits {
  std::string_view begin;     // as above
  std::string_view function;  // as above
};

// Beginnings of the kernel functions in which a process waits.
struct Channel {
  std::string_view begin;
  Doing doing;
};
constexpr std::array<Channel, 24> kChannels = {{
    {"hrtimer_nanosleep", Doing::kSleep},
    {"do_nanosleep", Doing::kSleep},
    {"pipe_read", Doing::kFile},
    {"anon_pipe_read", Doing::kFile},
    {"pipe_write", Doing::kFile},
    {"anon_pipe_write", Doing::kFile},
    {"wait_for_partner", Doing::kFile},
    {"folio_wait", Doing::kFile},
    {"wait_on_page", Doing::kFile},
    {"sk_wait_data", Doing::kSocket},
    {"inet_csk_accept", Doing::kSocket},
    {"unix_stream_read", Doing::kSocket},
    {"sk_stream_wait", Doing::kSocket},
    {"__skb_wait_for_more_packets", Doing::kSocket},
    {"flock_lock", Doing::kLock},
    {"locks_lock", Doing::kLock},
    {"posix_lock", Doing::kLock},
    {"fcntl_setlk", Doing::kLock},
    {"do_lock_file_wait", Doing::kLock},
    {"request_wait_answer", Doing::kFile},
    {"fuse_", Doing::kFile},
    {"rpc_wait", Doing::kFile},
    {"nfs", Doing::kFile},
    {"cv_wait", Doing::kFile},
}};

bool HasPart(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// PyTorch's file writer shows a checkpoint without py-spy.
bool WritesCheckpoint(const StackFrame& frame) {
  return HasPart(frame.function, "PyTorchStreamWriter") || HasPart(frame.function, "mz_zip_writer");
}

// Classifies by the files of the Python frames, innermost first.
std::optional<Doing> ByPlace(const ThreadStack& stack) {
  if (stack.language != Language::kPython) {
    if (std::ranges::any_of(stack.frames, WritesCheckpoint)) return Doing::kCheckpoint;
    return std::nullopt;
  }
  for (const StackFrame& frame : stack.frames) {
    const std::string file = ShortFile(frame.file, "");
    for (const Place& place : kPlaces) {
      if (file.starts_with(place.begin) && HasPart(frame.function, place.function))
        return place.doing;
    }
  }
  return std::nullopt;
}

bool AwaitsLock(const ThreadStack& stack) {
  return stack.language == Language::kNative &&
         std::ranges::any_of(stack.frames, [](const StackFrame& frame) {
           return HasPart(frame.function, "lll_lock_wait") || HasPart(frame.function, "mutex_lock");
         });
}

// If the main thread waits for another thread, such as one of PyTorch's Gloo, uses that thread.
std::string CollectiveOf(const RankProcess& process) {
  std::string collective = CollectiveOf(process.stack());
  if (!collective.empty() || !AwaitsSomeCollective(process.stack())) return collective;
  for (const ThreadStack& thread : process.threads) {
    if (!collective.empty() || thread.language == Language::kPython) break;
    collective = CollectiveOf(thread);
  }
  return collective;
}

// Places where a sleeping Python thread waits for other ranks though no frame names an operation:
// for example for the gradient reduction at the end of a backward pass, which runs in C++.
constexpr std::array<Waits, 14> kWaits = {{{"torch/autograd/", ""},
                                           {"torch/distributed/", ""},
                                           {"torch/nn/parallel/", ""},
                                           {"deepspeed/comm/", ""},
                                           {"deepspeed/runtime/", "reduce"},
                                           {"horovod/", "synchronize"},
                                           {"horovod/", "join"},
                                           {"jax/_src/array.py", "_value"},
                                           {"jax/_src/array.py", "block_until_ready"},
                                           {"jax/_src/api.py", "block_until_ready"},
                                           {"jax/_src/distributed.py", ""},
                                           {"paddle/distributed/", ""},
                                           {"mindspore/communication/", ""},
                                           {"mpi4py/", ""}}};

bool AwaitsOthers(const RankProcess& process) {
  const ThreadStack& stack = process.stack();
  if (stack.language != Language::kPython || !process.state.starts_with("sleeping in futex")) {
    return false;
  }
  const size_t telling = stack.Informative();
  if (telling == stack.frames.size()) return false;
  const StackFrame& frame = stack.frames[telling];
  const std::string file = ShortFile(frame.file, "");
  return std::ranges::any_of(kWaits, [&](const Waits& one) {
    return file.starts_with(one.begin) && HasPart(frame.function, one.function);
  });
}

bool IsOfRanks(const StackFrame& frame, Language language) {
  if (language == Language::kNative) return !OfNative(frame).empty();
  const std::string file = ShortFile(frame.file, "");
  return std::ranges::any_of(kWaits, [&](const Waits& one) { return file.starts_with(one.begin); });
}

}  // namespace

bool IsWithOthers(const ThreadStack& thread) {
  return AwaitsSomeCollective(thread) ||
         std::ranges::any_of(thread.frames, [&](const StackFrame& frame) {
           return IsOfRanks(frame, thread.language);
         });
}

std::string CollectiveIn(const StackFrame& frame, Language language) {
  return language == Language::kPython ? OfPython(frame) : OfNative(frame);
}

std::string CollectiveOf(const ThreadStack& thread) {
  std::string outermost;
  for (const StackFrame& frame : thread.frames) {
    std::string found = CollectiveIn(frame, thread.language);
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

bool IsOfTwo(const std::string& collective) {
  constexpr std::array<std::string_view, 6> kOfTwo = {
      "", "send", "receive", "send and receive", "MPI_Wait", "MPI_Waitall"};
  return std::ranges::find(kOfTwo, collective) != kOfTwo.end();
}

std::string WithArticle(const std::string& collective) {
  if (IsFunction(collective)) return collective;
  return (IsVowel(collective[0]) ? "an " : "a ") + collective;
}

std::string WithThe(const std::string& collective) {
  return IsFunction(collective) ? collective : "the " + collective;
}

Doing ByKernel(const RankProcess& process) {
  const std::string& state = process.state;
  if (state.starts_with("disk sleep")) return Doing::kDisk;
  if (state.starts_with("running")) return Doing::kCompute;
  if (!state.starts_with("sleeping")) return Doing::kUnknown;
  const size_t in = state.find(" in ");
  const std::string_view channel =
      in == std::string::npos ? "" : std::string_view(state).substr(in + 4);
  for (const Channel& one : kChannels) {
    if (channel.starts_with(one.begin)) return one.doing;
  }
  // Not every kernel shows the function.
  const bool sleeps = std::ranges::any_of(process.stack().frames, [](const StackFrame& frame) {
    return HasPart(frame.function, "nanosleep");
  });
  // Nor after a debugger interrupted the call, which the kernel then restarts.
  const bool unknown = channel.empty() || channel.starts_with("do_syscall_64");
  if (unknown && sleeps) return Doing::kSleep;
  if (process.file.starts_with("socket")) return Doing::kSocket;
  // No function in the kernel's state belongs to terminals alone.
  const bool of_file = process.file.starts_with('/') || process.file.starts_with("its ");
  return of_file ? Doing::kFile : Doing::kWait;
}

bool IsFrozen(const RankProcess& process) {
  return process.StateHas("refrigerator") || process.StateHas("do_freezer_trap");
}

bool IsStopped(const RankProcess& process) {
  return process.state.starts_with("stopped") || !process.holder.empty() || IsFrozen(process);
}

Doing DoingOf(const RankProcess& process, std::string& collective) {
  if (IsStopped(process)) return Doing::kStopped;
  collective = CollectiveOf(process);
  if (!collective.empty() || AwaitsSomeCollective(process.stack()) || AwaitsOthers(process)) {
    return Doing::kCollective;
  }
  if (const auto doing = ByPlace(process.stack())) return *doing;
  return AwaitsLock(process.stack()) ? Doing::kLock : ByKernel(process);
}

}  // namespace autodist::why
