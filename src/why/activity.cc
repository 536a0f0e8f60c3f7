#include "why/activity.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

#include "base/python_command.h"
#include "base/split.h"
#include "base/utf8.h"
#include "why/doing.h"
#include "why/stack_summary.h"

namespace autodist::why {
namespace {

using Language = ThreadStack::Language;

constexpr size_t kMaxPathLength = 200;  // bytes that are shown

std::string StoppedText(const RankProcess& process) {
  if (!process.holder.empty()) {
    return "is held by a debugger, " +
           base::Printable(base::Truncated(process.holder, kMaxPathLength));
  }
  return IsFrozen(process) ? "is frozen, with its control group"
                           : "is stopped by a signal (state T)";
}

// A process of the data loader that is busy with the data.
struct LoaderWorker {
  const RankProcess* process = nullptr;  // nullptr: none found
  size_t caller = 0;                     // index of the frame in the loader
};

LoaderWorker WorkerOf(const std::vector<const RankProcess*>& processes) {
  for (const RankProcess* process : processes) {
    const std::vector<StackFrame>& frames = process->stack().frames;
    const auto fetch = std::ranges::find_if(frames, [](const StackFrame& frame) {
      return ShortFile(frame.file, "") == "torch/utils/data/_utils/fetch.py";
    });
    if (fetch == frames.end() || fetch == frames.begin()) continue;
    return {process, static_cast<size_t>(fetch - frames.begin())};
  }
  return {};
}

// The rank makes progress if its worker does.
void AddWorker(const LoaderWorker& worker, const std::string& folder, Activity& activity) {
  const ThreadStack& stack = worker.process->stack();
  const size_t own = stack.UserFrame(0);
  const StackFrame& frame = stack.frames[own < worker.caller ? own : worker.caller - 1];
  const bool is_stopped = IsStopped(*worker.process);
  activity.words += ", whose worker " + (is_stopped ? StoppedText(*worker.process) + "," : "is") +
                    " in " + FrameText(frame, folder);
  activity.switches = worker.process->switches;
  activity.loads = ByKernel(*worker.process) == Doing::kCompute;
}

constexpr std::string_view kSocketTo = "socket to ";
constexpr std::string_view kNotAccepted = ", not accepted";

// ", for 10.0.0.7:5000": the other end of the socket, and whether it answers; "": unknown.
std::string Peer(const RankProcess& process) {
  constexpr std::string_view kSentAgain = ", sent again ";
  if (!process.file.starts_with(kSocketTo)) return "";
  const std::string peer = base::Printable(process.file.substr(kSocketTo.size(), kMaxPathLength));
  if (peer.ends_with(kNotAccepted)) {
    return ", for " + peer.substr(0, peer.size() - kNotAccepted.size()) +
           ", where no program has accepted the connection";
  }
  const size_t again = peer.find(kSentAgain);
  if (again == std::string::npos) return ", for " + peer;
  return ", for " + peer.substr(0, again) + ", which does not answer: what it has sent was " +
         peer.substr(again + 2);
}

// "10.0.0.7:5000": the end of a connection that was accepted; "": none.
std::string AwaitedEnd(const RankProcess& process) {
  if (!process.file.starts_with(kSocketTo) ||
      process.file.find(kNotAccepted) != process.file.npos) {
    return "";
  }
  return process.file.substr(kSocketTo.size(), process.file.find(',') - kSocketTo.size());
}

// "in step (train.py:41)"; "": no informative frame.
std::string Where(const StackSummary& summary) {
  if (!summary.missing.empty()) return "";
  return " in " + (summary.called_by.empty() ? summary.doing : summary.called_by);
}

// The server of a network or FUSE file system.
bool AwaitsServer(const RankProcess& process) {
  return process.StateHas("request_wait_answer") || process.StateHas(" in fuse_") ||
         process.StateHas(" in rpc_wait") || process.StateHas(" in nfs");
}

std::string DescribeActivity(const Activity& activity, const RankProcess& process,
                             const StackSummary& summary) {
  const std::string where = Where(summary);
  const std::string file = base::Printable(base::Truncated(process.file, kMaxPathLength));
  switch (activity.doing) {
    case Doing::kCollective:
      return activity.collective.empty() ? "waits in a collective"
                                         : "is in " + WithArticle(activity.collective);
    case Doing::kDataLoader:
      return "is in its data loader" + (summary.doing.empty() ? "" : ": " + summary.doing);
    case Doing::kFile:
      if (file == "its output") return "writes to its output, which is not being read" + where;
      if (process.AwaitsInput()) return "waits for its standard input" + where;
      return (process.StateHas("wait_for_partner") ? "opens "
              : AwaitsServer(process)              ? "waits for the file system of "
              : process.StateHas("write")          ? "writes to "
                                                   : "reads from ") +
             (file.empty() ? "a pipe" : file) + where;
    case Doing::kSocket:
      return "waits at a socket" + where + Peer(process);
    case Doing::kSleep:
      return "sleeps" + where;
    case Doing::kLock:
      return "waits for a lock" + (file.empty() ? "" : " on " + file) + where;
    case Doing::kWait:
      return "waits for a lock, another thread or another process" + where;
    case Doing::kStopped:
      return StoppedText(process);
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
      return "has an unknown activity";
  }
  return "";
}

// The state of a process for which the rank may wait; "": idle, or not telling.
std::string ChildText(const RankProcess& child, const std::string& folder) {
  Activity activity;
  activity.doing = ByKernel(child);
  const bool is_idle = activity.doing == Doing::kFile && !child.file.starts_with('/');
  constexpr std::array<Doing, 5> kTelling = {Doing::kDisk, Doing::kSocket, Doing::kLock,
                                             Doing::kFile, Doing::kSleep};
  if (is_idle || std::ranges::find(kTelling, activity.doing) == kTelling.end()) return "";
  return DescribeActivity(activity, child, SummaryOf(child, folder));
}

// A process that waits for another one makes progress if that one does.
void AddChild(const std::vector<const RankProcess*>& with, const std::string& folder,
              Activity& activity) {
  if (activity.AtWork() || activity.doing == Doing::kCollective) return;
  const auto add = [&](const RankProcess& child, const std::string& words) {
    activity.words += ", and its process " + std::to_string(child.pid) + " " + words;
  };
  const auto stopped =
      std::ranges::find_if(with, [](const RankProcess* process) { return IsStopped(*process); });
  if (stopped != with.end()) {
    if ((*stopped)->pid == activity.pid) return;
    activity.awaits_stopped = true;
    return add(**stopped, StoppedText(**stopped));
  }
  if (activity.doing != Doing::kWait) return;
  for (const RankProcess* process : with) {
    if (process->parent == 0 || process->parent != activity.pid) continue;
    const std::string words = ChildText(*process, folder);
    if (!words.empty()) return add(*process, words);
  }
}

std::string EvidenceOf(const RankProcess& process, const StackSummary& summary) {
  std::string evidence;
  if (summary.missing.empty()) {
    evidence = summary.doing;
    if (!summary.called_by.empty()) evidence += ", called by " + summary.called_by;
  }
  const std::string state = base::Printable(base::Truncated(process.state, kMaxPathLength));
  if (!state.empty()) evidence += (evidence.empty() ? "" : "; ") + state;
  if (!process.file.empty()) {
    evidence += ", file " + base::Printable(base::Truncated(process.file, kMaxPathLength));
  }
  if (!summary.missing.empty()) {
    evidence += " (no stack: " + summary.missing + ")";
  }
  return evidence;
}

// A child that runs the same program, as multiprocessing starts it.
bool IsWorker(const RankProcess& process, const RankProcess& parent) {
  return parent.pid != 0 && process.parent == parent.pid &&
         (process.command == parent.command ||
          process.command.find("multiprocessing.spawn") != std::string::npos);
}

// Adds up the work of `process` and of those counted with it.
std::optional<Work> WorkOf(const RankProcess& process,
                           const std::vector<const RankProcess*>& with) {
  Work work;
  for (const RankProcess* other : with) {
    if (!other->work) continue;
    const ProcessWork& one = *other->work;
    std::string collective;
    const bool in_collective = DoingOf(*other, collective) == Doing::kCollective;
    const uint64_t threads = one.cpu_ms > one.main_thread_ms ? one.cpu_ms - one.main_thread_ms : 0;
    if (other == &process) {
      work.main_thread = one.main_thread_ms;
      work.in_collective = in_collective;
      work.other_threads = threads;
    } else {
      work.other_processes += (in_collective ? 0 : one.main_thread_ms) + threads;
    }
    work.bytes += one.bytes;
    work.written += one.written;
    if (IsWorker(*other, process)) work.workers_read += one.read;
    work.at_ms = std::max(work.at_ms, one.at_ms);
  }
  return work.at_ms == 0 ? std::nullopt : std::optional(work);
}

// Without the line: ranks in a loop of exchanges wait in different lines.
std::string PlaceOf(const RankProcess& process, const std::string& folder) {
  const ThreadStack& stack = process.stack();
  const size_t telling = stack.Informative();
  const size_t own = stack.UserFrame(telling);
  const size_t at = own < stack.frames.size() ? own : telling;
  if (at >= stack.frames.size()) return "";
  StackFrame frame = stack.frames[at];
  frame.line.clear();
  return FrameText(frame, folder);
}

bool IsAtEnd(const ThreadStack& stack) {
  const bool python = stack.language == Language::kPython;
  return std::ranges::any_of(stack.frames, [python](const StackFrame& frame) {
    return python ? frame.function == "_shutdown" && ShortFile(frame.file, "") == "threading.py"
                  : frame.function == "Py_FinalizeEx";
  });
}

bool HasFrameOf(const ThreadStack& stack, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(stack.frames, [&](const StackFrame& frame) {
    return std::ranges::any_of(parts, [&](std::string_view part) {
      return frame.function.find(part) != std::string::npos;
    });
  });
}

// A Python function that is named as one that saves.
bool Saves(const ThreadStack& stack) {
  constexpr std::array<std::string_view, 4> kNames = {"save", "_save", "dump", "write_checkpoint"};
  return stack.language == Language::kPython &&
         std::ranges::any_of(stack.frames, [&](const StackFrame& frame) {
           return std::ranges::any_of(
               kNames, [&](std::string_view one) { return MethodOf(frame).starts_with(one); });
         });
}

// "python3 train.py", "python3 -m train", "./train": without options, which may name the rank.
std::string ProgramOf(const RankProcess& rank) {
  const std::vector<std::string_view> split = base::Split(rank.command, ' ');
  const std::vector<std::string> words(split.begin(), split.end());
  if (rank.ProgramName().starts_with("python")) {
    const base::PythonTarget target = base::TargetOfPython(words, 1);
    if (!target.module.empty()) return words[0] + " -m " + target.module;
    return target.at < words.size() ? words[0] + " " + words[target.at] : words[0];
  }
  return words.size() == 1 || words[1].starts_with('-') ? words[0] : words[0] + " " + words[1];
}

Activity ActivityOf(const RankProcess& process, const std::vector<const RankProcess*>& with,
                    const std::string& folder) {
  Activity activity;
  const StackSummary summary = SummaryOf(process, folder);
  activity.pid = process.pid;
  activity.doing = DoingOf(process, activity.collective);
  if (activity.doing == Doing::kCollective) {
    activity.call = CallOf(process, activity.collective, folder);
    activity.polls = activity.collective == "init_process_group" ||
                     HasFrameOf(process.stack(), {"store_based_barrier"});
  }
  activity.words = DescribeActivity(activity, process, summary);
  activity.evidence = EvidenceOf(process, summary);
  activity.place = PlaceOf(process, folder);
  activity.awaits_input = activity.doing == Doing::kFile && process.AwaitsInput();
  activity.has_frames = !process.stack().frames.empty();
  if (activity.has_frames) activity.tool = process.source;
  if (!activity.has_frames) activity.depth = process.depth;
  activity.program = ProgramOf(process);
  activity.unasked = process.missing == kNotRequested;
  activity.awaits_service =
      activity.doing == Doing::kSocket && process.file.starts_with(kSocketTo) &&
      process.file.find(',') == std::string::npos && !IsWithOthers(process.stack());
  activity.awaits_no_rank =
      activity.doing == Doing::kSocket &&
      (process.file.ends_with(kNotAccepted) || process.StateHas("unix_stream_read"));
  activity.saves = Saves(process.stack());
  activity.is_at_end = IsAtEnd(process.stack());
  activity.meets =
      HasFrameOf(process.stack(), {"TCPStore", "create_c10d_store", "rendezvous_handler"});
  activity.connects = activity.meets || HasFrameOf(process.stack(), {"connect", "SocketConnect",
                                                                     "_new_process_group_helper"});
  activity.connecting = process.connecting;
  if (activity.doing == Doing::kSocket) activity.awaits_end = AwaitedEnd(process);
  activity.switches = process.switches;
  activity.work = WorkOf(process, with);
  activity.source = process.source.empty() ? "/proc" : process.source + ", /proc";
  for (const RankProcess* other : with) {
    activity.sent_again.insert(activity.sent_again.end(), other->sent_again.begin(),
                               other->sent_again.end());
    activity.own_ends.insert(activity.own_ends.end(), other->own_ends.begin(),
                             other->own_ends.end());
  }
  if (!activity.collective.empty() && process.stack().language == Language::kNative) {
    activity.evidence = WithArticle(activity.collective) + ": " + activity.evidence;
  }
  const LoaderWorker worker =
      activity.doing == Doing::kDataLoader ? WorkerOf(with) : LoaderWorker();
  if (worker.process) {
    AddWorker(worker, folder, activity);
  } else {
    AddChild(with, folder, activity);
  }
  return activity;
}

// A helper process of Python's multiprocessing.
bool TakesNoPart(const RankProcess& process) {
  return process.command.find("multiprocessing.resource_tracker") != std::string::npos ||
         process.command.find("multiprocessing.forkserver") != std::string::npos;
}

bool InCollective(const RankProcess& process) {
  return !CollectiveOf(process.stack()).empty() || AwaitsSomeCollective(process.stack());
}

std::vector<const RankProcess*> ChildrenOf(const RankProcess& parent,
                                           const std::vector<RankProcess>& processes) {
  std::vector<const RankProcess*> children;
  for (const RankProcess& process : processes) {
    const bool is_child = parent.pid != 0 && process.parent == parent.pid && &process != &parent;
    if (is_child && !TakesNoPart(process)) children.push_back(&process);
  }
  return children;
}

// A process without Python frames is a launcher if its children are in a collective.
bool IsLauncher(const RankProcess& process, const std::vector<const RankProcess*>& children) {
  return process.AwaitsAnother() ||
         (!InCollective(process) &&
          std::ranges::any_of(children, [](const RankProcess* one) { return InCollective(*one); }));
}

// A shell's child that only helps the others: it reads their output, as in "python3 train.py | tee
// log", or sleeps, as a loop in the background does most of the time.
bool OnlyHelps(const RankProcess& child, const std::vector<RankProcess>& processes) {
  const auto sleeps = [](const RankProcess* process) { return process->ProgramName() == "sleep"; };
  if (child.AwaitsInput() && child.StateHas("pipe_read")) return true;
  const std::vector<const RankProcess*> children = ChildrenOf(child, processes);
  return sleeps(&child) ||
         (child.IsShell() && !children.empty() && std::ranges::all_of(children, sleeps));
}

// Returns the children that are judged instead of a launcher.
std::vector<const RankProcess*> LaunchedBy(const RankProcess& launcher,
                                           const std::vector<const RankProcess*>& children,
                                           const std::vector<RankProcess>& processes) {
  if (!launcher.IsShell() || children.size() < 2) return children;
  std::vector<const RankProcess*> launched;
  std::ranges::copy_if(children, std::back_inserter(launched),
                       [&](const RankProcess* child) { return !OnlyHelps(*child, processes); });
  return launched.empty() ? children : launched;
}

// Returns the processes that take part in the job: the rank itself, or its children if it is a
// shell or another launcher that only waits for them, such as torch.multiprocessing.spawn. Not
// empty unless `processes` is.
std::vector<const RankProcess*> Participants(const std::vector<RankProcess>& processes) {
  if (processes.empty()) return {};
  std::vector<const RankProcess*> found;
  std::vector<const RankProcess*> looked_at = {&processes.front()};
  for (size_t i = 0; i < looked_at.size() && i < processes.size(); ++i) {
    const std::vector<const RankProcess*> children = ChildrenOf(*looked_at[i], processes);
    if (IsLauncher(*looked_at[i], children)) {
      const auto launched = LaunchedBy(*looked_at[i], children, processes);
      looked_at.insert(looked_at.end(), launched.begin(), launched.end());
    } else {
      found.push_back(looked_at[i]);
    }
  }
  if (found.empty()) found.push_back(AtWork(processes));
  return found;
}

// Returns a process and those below it, in their order.
std::vector<const RankProcess*> Subtree(const RankProcess& top,
                                        const std::vector<RankProcess>& processes) {
  std::vector<const RankProcess*> found = {&top};
  std::vector<bool> seen(processes.size());
  seen[static_cast<size_t>(&top - processes.data())] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t j = 0; j < processes.size(); ++j) {
      if (seen[j] || processes[j].parent == 0 || processes[j].parent != found[i]->pid) continue;
      seen[j] = true;
      found.push_back(&processes[j]);
    }
  }
  std::ranges::sort(found);
  return found;
}

Activity Ending() {
  Activity activity;
  activity.words = "is ending";
  activity.evidence = "its process has ended";
  activity.source = "/proc";
  return activity;
}

}  // namespace

std::vector<Activity> ActivitiesOf(std::string_view text, const std::string& folder) {
  const std::vector<RankProcess> processes = ReadProcesses(text);
  if (processes.empty()) return {Ending()};
  std::vector<const RankProcess*> participants = Participants(processes);
  // If the rank itself is stopped, report only that, although its children may run.
  if (IsStopped(processes.front())) participants = {&processes.front()};
  const std::vector<GroupCount> counts = ReadGroupCounts(text);
  const NodeFacts node = ReadNodeFacts(text);
  std::vector<Activity> activities;
  for (const RankProcess* participant : participants) {
    std::vector<const RankProcess*> with;
    if (participants.size() > 1) {
      with = Subtree(*participant, processes);
    } else {
      for (const RankProcess& process : processes) with.push_back(&process);
    }
    Activity activity = ActivityOf(*participant, with, folder);
    activity.node = node;
    for (const GroupCount& count : counts) {
      const bool is_its = std::ranges::count(with, count.pid, &RankProcess::pid) > 0;
      if (is_its || (count.pid == 0 && participants.size() == 1)) activity.counts.push_back(count);
    }
    activities.push_back(std::move(activity));
  }
  return activities;
}

}  // namespace autodist::why
