#include "agent/life/end_facts.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/prepare/file_facts.h"
#include "agent/sample/processes.h"
#include "agent/stacks/tcp_sockets.h"
#include "base/disk_room.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/environment.h"
#include "process/process_tree.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

// Bytes. The end of the rank is reported after the tables have been read.
constexpr size_t kLargestPortTable = 2 << 20;

constexpr int kMaxPortsOfKind = 128;
constexpr uint64_t kUnlimited = uint64_t{1} << 60;  // bytes of a file system in some sandboxes

void AddPorts(const std::set<uint16_t>& ports,
              google::protobuf::RepeatedField<uint32_t>& reported) {
  for (const uint16_t port : ports) {
    if (reported.size() == kMaxPortsOfKind) return;
    reported.Add(port);
  }
}

// Whether a thread of the process is in uninterruptible sleep. If it holds the lock of the memory,
// reading the variables blocks as long as a driver or file server hangs.
bool MayHang(const std::string& folder) {
  return std::ranges::any_of(base::EntriesOf(folder + "/task"), [&](const std::string& thread) {
    const auto stat = ReadProcessStat(folder + "/task/" + thread);
    return stat && stat->state == 'D';
  });
}

// Returns the rank that started the process. Any kind of program inherits the path of the FIFO,
// ".../progress.N".
std::optional<uint32_t> RankOf(const std::string& folder) {
  if (MayHang(folder)) return std::nullopt;
  const std::string fifo = process::Environment::OfProcess(folder).Get("AUTODIST_PROGRESS");
  return base::ParseNumber<uint32_t>(fifo.substr(fifo.rfind('.') + 1));
}

// Reads the descriptors of all processes of ranks.
void AddListeningRanks(const PortUses& uses, v1::FailureFacts& facts) {
  std::set<uint16_t> seen;  // a child may have inherited the socket
  for (const pid_t pid : process::Descendants(getpid())) {
    const std::string folder = "/proc/" + std::to_string(pid);
    for (const uint64_t inode : SocketsOf(folder + "/fd")) {
      const auto listener = uses.listeners.find(inode);
      if (listener == uses.listeners.end() || !seen.insert(listener->second).second) continue;
      const std::optional<uint32_t> rank = RankOf(folder);
      if (!rank) continue;
      v1::ListeningRank& listening = *facts.add_listening_ranks();
      listening.set_port(listener->second);
      listening.set_rank(*rank);
      listening.set_pid(pid);
      if (facts.listening_ranks_size() == kMaxPortsOfKind) return;
    }
  }
}

void AddPortFacts(v1::FailureFacts& facts) {
  PortUses uses;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    AddPortUses(base::ReadFile(table, kLargestPortTable).value_or(""), uses);
  }
  std::set<uint16_t> listening;
  for (const auto& [inode, port] : uses.listeners) listening.insert(port);
  AddPorts(listening, *facts.mutable_listening_ports());
  AddPorts(uses.closing, *facts.mutable_closing_ports());
  AddListeningRanks(uses, facts);
}

constexpr size_t kLargestMountTable = 1 << 20;

// Returns the free bytes if there are so few that a write may have failed, 0 without free inodes.
std::optional<uint64_t> FreeIfFull(const std::string& folder, const struct statvfs& info) {
  if ((info.f_flag & ST_RDONLY) != 0 || info.f_blocks == 0) return std::nullopt;
  if (info.f_files > 0 && info.f_favail == 0) return 0;
  const uint64_t size = uint64_t{info.f_blocks} * info.f_frsize;
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  return IsNearlyFull(folder, size, free) ? std::optional(free) : std::nullopt;
}

// Decodes a path in a table of mounts, which has a space as "\040".
std::string DecodedPath(std::string_view field) {
  constexpr size_t kDigits = 3;
  std::string path;
  while (!field.empty()) {
    unsigned code = 0;
    const std::string_view digits = field.substr(1, kDigits);
    const bool escaped =
        field[0] == '\\' && digits.size() == kDigits &&
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 8).ptr ==
            digits.data() + digits.size();
    path += escaped ? static_cast<char>(code) : field[0];
    field.remove_prefix(escaped ? 1 + kDigits : 1);
  }
  return path;
}

// Whether the folder, or one above it, is one of `mounts`.
bool IsBelow(std::string folder, const std::set<std::string>& mounts) {
  for (; !folder.empty(); folder.resize(folder.rfind('/'))) {
    if (mounts.contains(folder)) return true;
  }
  return false;
}

void AddFullFileSystems(v1::FailureFacts& facts) {
  std::set<dev_t> seen;                              // a file system may be mounted several times
  std::set<std::pair<std::string, uint64_t>> disks;  // with their free bytes: some have quotas
  const std::string table = base::ReadFile("/proc/self/mounts", kLargestMountTable).value_or("");
  for (const LocalMount& mount : LocalMounts(table)) {
    struct stat place;
    struct statvfs info;
    if (stat(mount.folder.c_str(), &place) != 0 || !S_ISDIR(place.st_mode)) continue;
    if (!seen.insert(place.st_dev).second || statvfs(mount.folder.c_str(), &info) != 0) continue;
    const std::optional<uint64_t> free = FreeIfFull(mount.folder, info);
    if (!free || (!mount.disk.empty() && !disks.emplace(mount.disk, *free).second)) continue;
    v1::FullFileSystem& full = *facts.add_full_file_systems();
    full.set_folder(base::ToUtf8(mount.folder));
    full.set_free(*free);
    if (facts.full_file_systems_size() == rpc::kMaxFullFileSystems) return;
  }
}

}  // namespace

bool IsNearlyFull(const std::string& folder, uint64_t size, uint64_t free) {
  if (folder != "/dev/shm") return base::HasNoRoom(size, free);
  // Data loaders write whole batches there, and what the rank that failed had there may be free
  // again.
  constexpr uint64_t kLittle = uint64_t{256} << 20;  // bytes
  return free < std::min(kLittle, size / 2);
}

std::vector<LocalMount> LocalMounts(std::string_view table) {
  constexpr std::string_view kLocal[] = {"ext2", "ext3", "ext4",  "xfs",      "btrfs",
                                         "zfs",  "f2fs", "tmpfs", "devtmpfs", "overlay"};
  std::vector<LocalMount> mounts;
  std::set<std::string> others;
  for (const std::string_view line : base::Lines(table)) {
    const std::vector<std::string_view> fields = base::Split(line, ' ');  // source, folder, type
    if (fields.size() < 3 || !fields[1].starts_with('/')) continue;
    const std::string folder = DecodedPath(fields[1]);
    const std::string_view type = fields[2];
    if (std::ranges::count(kLocal, type) == 0) {
      if (folder != "/") others.insert(folder);       // each path of the agent begins at the root
    } else if (type != "overlay" || folder == "/") {  // others are of containers
      const bool pool = type == "zfs";                // "POOL/DATASET"
      const bool device = fields[0].starts_with('/');
      mounts.push_back({folder, std::string(pool     ? base::Split(fields[0], '/')[0]
                                            : device ? fields[0]
                                                     : "")});
    }
  }
  std::erase_if(mounts, [&](const LocalMount& mount) { return IsBelow(mount.folder, others); });
  return mounts;
}

bool MayConcernPorts(const v1::RankExited& exit) {
  return exit.exit_code() != 0 || exit.signal() == SIGABRT;
}

v1::FailureFacts FailureFactsNow(const v1::RankExited& exit) {
  v1::FailureFacts facts;
  if (MayConcernPorts(exit)) AddPortFacts(facts);
  AddFullFileSystems(facts);
  const v1::DiskFact memory = DiskFactOf("/dev/shm");
  if (memory.size() >= kUnlimited) return facts;
  facts.set_shared_memory_size(memory.size());
  return facts;
}

v1::ProcessesLeft DescribeLeft(v1::LeftStage stage, const std::vector<pid_t>& processes) {
  v1::ProcessesLeft left;
  left.set_stage(stage);
  for (const pid_t pid : processes) {
    if (left.processes_size() == rpc::kMaxLeftProcesses) break;
    const std::string folder = "/proc/" + std::to_string(pid);
    const auto name = base::ReadFile(folder + "/comm", rpc::kMaxProgramName);
    if (!name.ok()) continue;  // it has ended
    v1::LeftProcess& process = *left.add_processes();
    process.set_pid(pid);
    process.set_name(base::ToUtf8(base::FirstLine(*name)));
    if (const std::optional<uint32_t> rank = RankOf(folder)) process.set_rank(*rank);
  }
  return left;
}

}  // namespace autodist::agent
