#include "agent/life/end_facts.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/prepare/file_facts.h"
#include "agent/sample/processes.h"
#include "agent/stacks/tcp_sockets.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/utf8.h"
#include "process/environment.h"
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

constexpr size_t kLargestMountTable = 1 << 20;

// Whether so little is free that a write may have failed.
bool IsFull(const struct statvfs& info) {
  constexpr uint64_t kLittle = uint64_t{16} << 20;  // bytes
  constexpr uint64_t kFull = 20;                    // parts, of which less than one is free
  if ((info.f_flag & ST_RDONLY) != 0 || info.f_blocks == 0) return false;
  const uint64_t size = uint64_t{info.f_blocks} * info.f_frsize;
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  return free < std::min(kLittle, size / kFull) || (info.f_files > 0 && info.f_favail == 0);
}

}  // namespace

std::vector<std::string> FullFileSystems(const std::string& mounts) {
  // A file server that does not answer would block the agent.
  constexpr std::string_view kLocal[] = {"ext2",  "ext3", "ext4", "xfs",    "btrfs",
                                         "tmpfs", "zfs",  "f2fs", "overlay"};
  std::vector<std::string> full;
  std::set<dev_t> seen;  // a file system may be mounted several times
  const std::string table = base::ReadFile(mounts, kLargestMountTable).value_or("");
  for (const std::string_view line : base::Lines(table)) {
    const std::vector<std::string_view> fields = base::Split(line, ' ');  // source, folder, type
    if (fields.size() < 3 || std::ranges::count(kLocal, fields[2]) == 0) continue;
    const std::string folder(fields[1]);
    if (fields[2] == "overlay" && folder != "/") continue;  // of a container
    struct stat place;
    struct statvfs info;
    if (stat(folder.c_str(), &place) != 0 || !seen.insert(place.st_dev).second) continue;
    if (statvfs(folder.c_str(), &info) == 0 && IsFull(info)) full.push_back(base::ToUtf8(folder));
    if (full.size() == rpc::kMaxFullFileSystems) break;
  }
  return full;
}

v1::FailureFacts FailureFactsNow() {
  v1::FailureFacts facts;
  PortUses uses;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    AddPortUses(base::ReadFile(table, kLargestPortTable).value_or(""), uses);
  }
  AddPorts(uses.listening, *facts.mutable_listening_ports());
  AddPorts(uses.closing, *facts.mutable_closing_ports());
  for (std::string& folder : FullFileSystems()) facts.add_full_file_systems(std::move(folder));
  const v1::DiskFact memory = DiskFactOf("/dev/shm");
  if (memory.size() >= kUnlimited) return facts;
  facts.set_shared_memory_size(memory.size());
  facts.set_shared_memory_free(memory.free());
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
    if (MayHang(folder)) continue;
    // Any kind of program inherits it from the rank: the path of the FIFO, ".../progress.N".
    const std::string fifo = process::Environment::OfProcess(folder).Get("AUTODIST_PROGRESS");
    const auto rank = base::ParseNumber<uint32_t>(fifo.substr(fifo.rfind('.') + 1));
    if (rank) process.set_rank(*rank);
  }
  return left;
}

}  // namespace autodist::agent
