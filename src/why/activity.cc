#include "why/activity.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/utf8.h"
#include "why/collectives.h"
#include "why/rank_processes.h"
#include "why/stack_summary.h"

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;

constexpr size_t kLongestPath = 200;  // bytes of it that are shown

struct Place {
  std::string_view begin;     // of a file as people know it
  std::string_view function;  // a part of its name; "": any
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

// Beginnings of the kernel's words for where a process waits.
struct Channel {
  std::string_view begin;
  Doing doing;
};
constexpr std::array<Channel, 14> kChannels = {{
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
}};

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// What PyTorch writes its files by: without py-spy a checkpoint is seen by it.
bool WritesCheckpoint(const StackFrame& frame) {
  return Has(frame.function, "PyTorchStreamWriter") || Has(frame.function, "mz_zip_writer");
}

// By the files that its Python is in, those that were called last first.
std::optional<Doing> ByPlace(const ThreadStack& stack) {
  if (stack.language != Language::kPython) {
    if (std::ranges::any_of(stack.frames, WritesCheckpoint)) return Doing::kCheckpoint;
    return std::nullopt;
  }
  for (const StackFrame& frame : stack.frames) {
    const std::string file = ShortFile(frame.file, "");
    for (const Place& place : kPlaces) {
      if (file.starts_with(place.begin) && Has(frame.function, place.function)) return place.doing;
    }
  }
  return std::nullopt;
}

bool AwaitsLock(const ThreadStack& stack) {
  return stack.language == Language::kNative &&
         std::ranges::any_of(stack.frames, [](const StackFrame& frame) {
           return Has(frame.function, "lll_lock_wait") || Has(frame.function, "mutex_lock");
         });
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
  // Not every kernel says where.
  const bool sleeps = std::ranges::any_of(process.stack().frames, [](const StackFrame& frame) {
    return Has(frame.function, "nanosleep");
  });
  if (channel.empty() && sleeps) return Doing::kSleep;
  if (process.file.starts_with("socket")) return Doing::kSocket;
  return process.file.starts_with('/') ? Doing::kFile : Doing::kWait;
}

// Of the thread that works for a Gloo of PyTorch's, say, where the main one waits for it.
std::string CollectiveOf(const RankProcess& process) {
  std::string collective = CollectiveOf(process.stack());
  if (!collective.empty() || !AwaitsSomeCollective(process.stack())) return collective;
  for (const ThreadStack& thread : process.threads) {
    if (!collective.empty() || thread.language == Language::kPython) break;
    collective = CollectiveOf(thread);
  }
  return collective;
}

// PyTorch's DDP waits for the sums of gradients at the end of the backward pass, of which Python
// has no frame.
bool AwaitsGradients(const RankProcess& process) {
  const std::vector<StackFrame>& frames = process.stack().frames;
  return process.stack().language == Language::kPython && !frames.empty() &&
         ShortFile(frames[0].file, "").starts_with("torch/autograd/") &&
         process.state.starts_with("sleeping in futex");
}

Doing DoingOf(const RankProcess& process, std::string& collective) {
  // A debugger's is "tracing stop".
  if (process.state.starts_with("stopped")) return Doing::kStopped;
  collective = CollectiveOf(process);
  if (!collective.empty() || AwaitsSomeCollective(process.stack()) || AwaitsGradients(process)) {
    return Doing::kCollective;
  }
  if (const auto doing = ByPlace(process.stack())) return *doing;
  return AwaitsLock(process.stack()) ? Doing::kLock : ByKernel(process);
}

// A process that the loader has started, while it is busy with the data.
struct LoaderWorker {
  const RankProcess* process = nullptr;  // there is none
  size_t caller = 0;                     // its frame in the loader
};

LoaderWorker WorkerOf(const std::vector<RankProcess>& processes) {
  for (const RankProcess& process : processes) {
    const std::vector<StackFrame>& frames = process.stack().frames;
    const auto fetch = std::ranges::find_if(frames, [](const StackFrame& frame) {
      return ShortFile(frame.file, "") == "torch/utils/data/_utils/fetch.py";
    });
    if (fetch == frames.end() || fetch == frames.begin()) continue;
    return {&process, static_cast<size_t>(fetch - frames.begin())};
  }
  return {};
}

// The rank gets on as its worker does.
void AddWorker(const LoaderWorker& worker, const std::string& folder, Activity& activity) {
  const ThreadStack& stack = worker.process->stack();
  const size_t own = stack.UsersOwn(0);
  const StackFrame& frame = stack.frames[own < worker.caller ? own : worker.caller - 1];
  activity.words += ", whose worker is in " + FrameText(frame, folder);
  activity.switches = worker.process->switches;
  activity.loads = ByKernel(*worker.process) == Doing::kCompute;
}

// ", for 10.0.0.7:5000": who is at the other end of the socket, and whether it answers; "": not
// known.
std::string Peer(const RankProcess& process) {
  constexpr std::string_view kTo = "socket to ";
  constexpr std::string_view kSentAgain = ", sent again ";
  if (!process.file.starts_with(kTo)) return "";
  const std::string peer = base::Printable(process.file.substr(kTo.size(), kLongestPath));
  const size_t again = peer.find(kSentAgain);
  if (again == std::string::npos) return ", for " + peer;
  return ", for " + peer.substr(0, again) + ", which does not answer: what it has sent was " +
         peer.substr(again + 2);
}

// "in step (train.py:41)"; "": its frames tell nothing.
std::string Where(const StackSummary& summary) {
  if (!summary.missing.empty()) return "";
  return " in " + (summary.called_by.empty() ? summary.doing : summary.called_by);
}

std::string WordsOf(const Activity& activity, const RankProcess& process,
                    const StackSummary& summary) {
  const std::string where = Where(summary);
  const std::string file = base::Printable(process.file.substr(0, kLongestPath));
  switch (activity.doing) {
    case Doing::kCollective:
      return activity.collective.empty() ? "waits in a collective"
                                         : "is in " + WithArticle(activity.collective);
    case Doing::kDataLoader:
      return "is in its data loader" + (summary.doing.empty() ? "" : ": " + summary.doing);
    case Doing::kFile:
      return (Has(process.state, "wait_for_partner") ? "opens "
              : Has(process.state, "write")          ? "writes to "
                                                     : "reads from ") +
             (file.empty() ? "a pipe" : file) + where;
    case Doing::kSocket:
      return "waits at a socket" + where + Peer(process);
    case Doing::kSleep:
      return "sleeps" + where;
    case Doing::kLock:
      return "waits for a lock" + where;
    case Doing::kWait:
      return "waits for a lock, another thread or another process" + where;
    case Doing::kStopped:
      return "is stopped by a signal (state T)";
    case Doing::kDisk:
      return "is in uninterruptible sleep (state D)" + where +
             (file.empty() ? "" : ", with " + file);
    case Doing::kCompile:
      return "compiles" + where;
    case Doing::kCheckpoint:
      return "writes a checkpoint" + where;
    case Doing::kCompute:
      return "computes" + where;
    case Doing::kUnknown:
      return "does what cannot be told";
  }
  return "";
}

std::string EvidenceOf(const RankProcess& process, const StackSummary& summary) {
  std::string evidence;
  if (summary.missing.empty()) {
    evidence = summary.doing;
    if (!summary.called_by.empty()) evidence += ", called by " + summary.called_by;
  }
  const std::string state = base::Printable(process.state.substr(0, kLongestPath));
  if (!state.empty()) evidence += (evidence.empty() ? "" : "; ") + state;
  if (!process.file.empty()) {
    evidence += ", file " + base::Printable(process.file.substr(0, kLongestPath));
  }
  if (!summary.missing.empty()) evidence += " (no stack: " + summary.missing + ")";
  return evidence;
}

std::optional<Work> WorkOf(const std::vector<RankProcess>& processes) {
  Work work;
  for (const RankProcess& process : processes) {
    if (!process.work) continue;
    const ProcessWork& one = *process.work;
    std::string collective;
    const uint64_t main_thread =
        DoingOf(process, collective) == Doing::kCollective ? 0 : one.main_thread_ms;
    const uint64_t threads = one.cpu_ms > one.main_thread_ms ? one.cpu_ms - one.main_thread_ms : 0;
    if (&process == &processes.front()) {
      work.main_thread = main_thread;
      work.other_threads = threads;
    } else {
      work.other_processes += main_thread + threads;
    }
    work.bytes += one.bytes;
    work.at_ms = std::max(work.at_ms, one.at_ms);
  }
  return work.at_ms == 0 ? std::nullopt : std::optional(work);
}

}  // namespace

Activity ActivityOf(std::string_view text, const std::string& folder) {
  const std::vector<RankProcess> processes = ReadProcesses(text);
  Activity activity;
  if (processes.empty()) {
    activity.words = "is ending";
    activity.evidence = "its process has ended";
    activity.source = "/proc";
    return activity;
  }
  // A rank that is stopped is so as a whole: what it has started may go on.
  const RankProcess& process =
      processes.front().state.starts_with("stopped") ? processes.front() : *AtWork(processes);
  const StackSummary summary = SummaryOf(process, folder);
  activity.doing = DoingOf(process, activity.collective);
  activity.words = WordsOf(activity, process, summary);
  activity.evidence = EvidenceOf(process, summary);
  activity.has_frames = !process.stack().frames.empty();
  activity.switches = process.switches;
  activity.work = WorkOf(processes);
  activity.source = process.source.empty() ? "/proc" : process.source + ", /proc";
  if (!activity.collective.empty() && process.stack().language == Language::kNative) {
    activity.evidence = WithArticle(activity.collective) + ": " + activity.evidence;
  }
  if (activity.doing != Doing::kDataLoader) return activity;
  const LoaderWorker worker = WorkerOf(processes);
  if (worker.process) AddWorker(worker, folder, activity);
  return activity;
}

}  // namespace autodist::why
