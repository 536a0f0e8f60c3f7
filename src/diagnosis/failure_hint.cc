#include "diagnosis/failure_hint.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/disk_room.h"
#include "base/for_user.h"
#include "base/quantity.h"
#include "base/split.h"
#include "diagnosis/chief_variables.h"

namespace autodist::diagnosis {
namespace {

// A failure whose message has `text`, and `other_text` there or in its lines; both may have
// alternatives, separated by '|'. The remedy has sections for sources
// (base/for_user.h). In fact and remedy, {rank} and {node} are replaced.
struct Known {
  const char* text;
  const char* other_text;
  const char* fact;
  const char* remedy;
  bool only_without_input = false;
};

constexpr char kNoInput[] = "the stdin of rank {rank} is empty";
constexpr char kTakesLocalRank[] =
    "remove it from the program's arguments; the number is in LOCAL_RANK";
constexpr char kRaiseThreads[] =
    "raise the limit of processes on {node} (ulimit -u, or the pids limit of the container), or "
    "start fewer workers and threads (OMP_NUM_THREADS)";
constexpr char kLocked[] = "another process builds there, or an earlier one has left its lock file";
constexpr char kUnlock[] = "if no process builds there, remove the lock file";

constexpr Known kKnown[] = {
    {"bdb.BdbQuit", "", kNoInput, "run with --stdin-rank {rank} to debug this rank", true},
    {"EOFError: EOF when reading a line", "", kNoInput,
     "run with --stdin-rank {rank} to answer in this terminal or from a pipe", true},
    {"arguments are required: ", "--local_rank", "",
     "add --local_rank={local_rank} to the program's arguments"},
    {"arguments are required: ", "--local-rank", "",
     "add --local-rank={local_rank} to the program's arguments"},
    {"unrecognized arguments: ", "--local_rank|--local-rank", "", kTakesLocalRank},
    {"o such option: --local", "rank", "", kTakesLocalRank},  // of click
    {"invalid device ordinal", "", "",
     "use LOCAL_RANK as the number of the device; a script with the argument --local_rank needs "
     "--local_rank={local_rank}"},
    {"version `GLIBC_", "' not found", "the C library of {node} is too old for it",
     "install a build for the system of {node}, or run it in a container"},
    {"version `GLIBCXX_", "' not found", "the libstdc++ that is found on {node} is too old for it",
     "put the folder of a newer libstdc++.so.6 first in LD_LIBRARY_PATH, with --env[spec| or "
     "shared_envs]"},
    {"loading shared libraries: |Error: ", "cannot open shared object file", "",  // or of Python
     "install the library on {node}, or add its folder to LD_LIBRARY_PATH, with --env[spec| or "
     "shared_envs]"},
    {"file_baton.py", "", kLocked, kUnlock},  // of PyTorch's extensions
    {"The file lock '", "could not be acquired", kLocked, kUnlock},
    // The latter is of PyTorch's data loaders.
    {"Too many open files|received 0 items of ancdata", "", "",
     "raise the limit: run -- sh -c 'ulimit -n 65536; exec PROGRAM', or set nofile in "
     "/etc/security/limits.conf of {node}"},
    {"can't start new thread", "", "", kRaiseThreads},
    // Of Python, shells, and libgomp.
    {"Resource temporarily unavailable",
     "os.fork()|fork_exec(|fork: |pthread_create|Thread creation failed|std::system_error", "",
     kRaiseThreads},
    {"no socket interface found", "", "",
     "name an interface of {node} with --env NCCL_SOCKET_IFNAME=NAME"},
    {"Unable to find interface for|Unable to find address for|"
     "Unable to resolve hostname to a (local) address",
     "", "",
     "name an interface of {node} with --env GLOO_SOCKET_IFNAME=NAME[spec|, or with interface in "
     "the spec]"},
    {"no kernel image is available", "", "",
     "install a build of PyTorch, or of the extension that failed, for the GPUs of {node}"},
    {"Torch not compiled with CUDA enabled", "", "",
     "install PyTorch with CUDA where the ranks of {node} find it[spec|, or correct python_venv]"},
    {"environment variable ", " expected, but not set", "",
     "run with --framework torch and --per device, as is the default, and without sudo or env -i, "
     "which remove variables"},
    {"Disk quota exceeded", "", "", "make room in your quota, or write to another file system"},
};

bool Says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool SaysOneOf(std::string_view text, std::string_view alternatives) {
  return std::ranges::any_of(base::Split(alternatives, '|'),
                             [&](std::string_view part) { return Says(text, part); });
}

// The lines of a message, without those that name lines of source files.
std::string WithoutFrames(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    if (!Says(line, "File \"")) text += line + "\n";
  }
  return text;
}

// Returns the port that the message or its source lines name; "": none of them.
std::string NamedPort(const std::string& text,
                      const google::protobuf::RepeatedField<uint32_t>& ports) {
  constexpr uint32_t kFirstOfPrograms = 1024;
  std::vector<std::string> numbers;
  for (const uint32_t port : ports) {
    if (port >= kFirstOfPrograms) numbers.push_back(std::to_string(port));
  }
  const std::vector<std::string> named = NamesIn(text, numbers);
  return named.empty() ? "" : named.front();
}

FailureHint HintOfListener(const FailedRank& failed, const std::string& port) {
  const bool is_master = port == std::to_string(failed.master_port);
  const auto& ranks = failed.facts.listening_ranks();
  const auto rank = std::ranges::find_if(
      ranks, [&](const v1::ListeningRank& one) { return std::to_string(one.port()) == port; });
  if (rank == ranks.end()) {
    return {"another process listens at port " + port + " on {node}",
            is_master ? "give another --master-port, or leave it out"
                      : "use MASTER_PORT or another free port"};
  }
  return {"rank " + std::to_string(rank->rank()) + " of this job listens at port " + port +
              " on {node} (pid " + std::to_string(rank->pid()) + ")",
          std::string(is_master ? "let only rank 0 listen at MASTER_PORT"
                                : "use another port in each process") +
              "; a program that starts the ranks of a node itself, as with mp.spawn, needs --per "
              "node"};
}

std::optional<FailureHint> HintOfPort(const FailedRank& failed) {
  if (!Says(failed.reason, "ddress already in use") && !Says(failed.reason, "EADDRINUSE")) {
    return std::nullopt;
  }
  const std::string text = WithoutFrames(failed.lines);
  if (const auto open = NamedPort(text, failed.facts.listening_ports()); !open.empty()) {
    return HintOfListener(failed, open);
  }
  if (const auto closing = NamedPort(text, failed.facts.closing_ports()); !closing.empty()) {
    return FailureHint{"port " + closing +
                           " on {node} is still closing after an earlier connection (TIME_WAIT, "
                           "60 s)",
                       "set SO_REUSEADDR in the program, or use another port"};
  }
  return std::nullopt;
}

std::optional<FailureHint> HintOfMessage(const FailedRank& failed) {
  const std::string all = failed.reason + "\n" + absl::StrJoin(failed.lines, "\n");
  const auto known = std::ranges::find_if(kKnown, [&](const Known& one) {
    return SaysOneOf(failed.reason, one.text) && SaysOneOf(all, one.other_text) &&
           !(one.only_without_input && failed.has_input);
  });
  if (known == std::end(kKnown)) return std::nullopt;
  return FailureHint{known->fact, base::ForUser(known->remedy)};
}

constexpr char kSharedMemory[] = "/dev/shm";

// Without /dev/shm, which HintOfSharedMemory judges.
std::optional<FailureHint> HintOfFullDisk(const FailedRank& failed) {
  if (!Says(failed.reason, "No space left on device")) return std::nullopt;
  std::vector<std::string> full;
  for (const v1::FullFileSystem& one : failed.facts.full_file_systems()) {
    if (one.folder() == kSharedMemory) continue;
    full.push_back(one.folder() + " of {node} " +
                   (one.free() == 0 ? "is full" : "has " + base::Bytes(one.free()) + " free"));
  }
  if (full.empty()) return std::nullopt;
  return FailureHint{
      absl::StrJoin(full, ", "),
      "make room there, or write elsewhere (TMPDIR names the folder of temporary files)"};
}

// Returns /dev/shm if it is nearly full, or null.
const v1::FullFileSystem* FullSharedMemory(const v1::FailureFacts& facts) {
  const auto full =
      std::ranges::find(facts.full_file_systems(), kSharedMemory, &v1::FullFileSystem::folder);
  return full == facts.full_file_systems().end() ? nullptr : &*full;
}

// "", ", and is full", or ", of which 2.0 MiB is free".
std::string RoomLeft(const v1::FullFileSystem* full) {
  if (!full) return "";
  return full->free() == 0 ? ", and is full"
                           : ", of which " + base::BinaryBytes(full->free()) + " is free";
}

// Of a rank that wrote to a mapped file, or whose data loader or NCCL did.
std::optional<FailureHint> HintOfSharedMemory(const FailedRank& failed) {
  constexpr uint64_t kSmall = uint64_t{1} << 30;  // bytes
  const bool says_so = Says(failed.reason, "killed by signal: Bus error") ||
                       Says(failed.reason, "insufficient shared memory (shm)") ||
                       Says(failed.reason, "unable to write to file </torch_") ||
                       Says(failed.reason, "creating shared memory segment");
  const bool no_space = Says(failed.reason, "No space left on device");
  const uint64_t size = failed.facts.shared_memory_size();
  const v1::FullFileSystem* full = FullSharedMemory(failed.facts);
  // Without room, a failed write that no message places was probably one to /dev/shm. Otherwise it
  // may be a full disk or file server, or a mapped file that was truncated.
  const bool may_be =
      full ? says_so || ((failed.bus_error || no_space) && base::HasNoRoom(size, full->free()))
           : says_so && size < kSmall;
  if (!may_be) return std::nullopt;
  return FailureHint{
      (says_so || no_space) && size > 0
          ? "/dev/shm of {node} has " + base::BinaryBytes(size) + RoomLeft(full)
          : "",
      "enlarge /dev/shm (of a container: --shm-size 16g or --ipc=host; of a pod: an emptyDir with "
      "`medium: Memory`), or remove what fills it"};
}

}  // namespace

std::vector<std::string> KnownRemedies() {
  std::vector<std::string> remedies;
  for (const Known& known : kKnown) remedies.emplace_back(known.remedy);
  return remedies;
}

std::string FullSharedMemoryText(const v1::FailureFacts& facts) {
  const v1::FullFileSystem* full = FullSharedMemory(facts);
  if (!full || !base::HasNoRoom(facts.shared_memory_size(), full->free())) return "";
  const std::string size = base::BinaryBytes(facts.shared_memory_size());
  return full->free() == 0 ? "/dev/shm on the node is full (" + size + ")"
                           : "/dev/shm on the node has " + base::BinaryBytes(full->free()) +
                                 " of " + size + " free";
}

std::optional<FailureHint> HintOf(const FailedRank& failed) {
  for (const auto find : {HintOfPort, HintOfSharedMemory, HintOfFullDisk, HintOfMessage}) {
    std::optional<FailureHint> hint = find(failed);
    if (!hint) continue;
    for (std::string* text : {&hint->fact, &hint->remedy}) {
      *text = absl::StrReplaceAll(
          *text, {{"{rank}", std::to_string(failed.rank)}, {"{node}", failed.node}});
    }
    return hint;
  }
  return std::nullopt;
}

}  // namespace autodist::diagnosis
