// The processes of a node's ranks: what each takes, with what it has started.
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "agent/sample/kernel_file.h"
#include "agent/sample/rate.h"
#include "autodist/v1/sample.pb.h"

namespace autodist::agent {

// What the text of a process's stat file says: "7 (name) S 1 ..."; the name may be anything.
struct ProcessStat {
  char state = '?';
  pid_t parent = 0;
  uint64_t cpu = 0;      // the kernel's ticks, of what it has waited for, too
  uint64_t own_cpu = 0;  // without that
  uint32_t threads = 0;
  uint64_t started = 0;   // ticks since the machine was started
  uint64_t resident = 0;  // pages
};
std::optional<ProcessStat> ParseProcessStat(std::string_view stat);

// Bytes from and to storage, of what it has waited for, too; from its io file.
struct ProcessIo {
  uint64_t read = 0;
  uint64_t written = 0;
};
std::optional<ProcessIo> ParseProcessIo(std::string_view io);

// Looks once through all processes of the machine for each sample, but into those only that belong
// to ranks or have come since. Not thread-safe.
class ProcessReader {
 public:
  explicit ProcessReader(const std::string& proc_folder);

  // `ranks`: the processes that run, by rank. In order of the ranks, without `silent_ms`.
  void Read(const std::map<uint32_t, pid_t>& ranks, SampleTime now, v1::NodeSample& sample);

  // Whether that was a process of a rank when they were read last.
  bool IsRanks(pid_t pid) const { return members_.contains(pid); }

 private:
  // Of a rank.
  struct Member {
    uint32_t rank = 0;
    uint64_t started = 0;  // with its number: nobody else has been it
    ProcessStat stat;
    std::optional<ProcessIo> io;
    bool seen = false;
  };
  struct Newcomer {
    pid_t pid;
    ProcessStat stat;
  };
  struct Total {
    pid_t pid = 0;  // of the rank itself
    uint64_t cpu = 0;
    uint64_t read = 0;
    uint64_t written = 0;
    Rate cpu_rate;
    Rate read_rate;
    Rate written_rate;
    Rate awaited_rate;
  };

  void LookAtAll(const std::map<uint32_t, pid_t>& ranks);
  void LookAt(pid_t pid);
  std::optional<ProcessStat> StatOf(pid_t pid);
  void AddRanks(const std::map<uint32_t, pid_t>& ranks);
  void Adopt();
  void ReadIo();
  // How long the main thread was ready to run and had to wait.
  std::optional<uint64_t> AwaitedBy(pid_t pid);
  void Tell(uint32_t rank, Total& total, SampleTime now, v1::RankSample& reading);

  TextBuffer buffer_;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder_;  // null: there is none
  std::unordered_map<pid_t, Member> members_;
  std::vector<pid_t> others_;  // ascending: processes that belong to no rank
  std::vector<pid_t> others_before_;
  std::vector<Newcomer> newcomers_;
  std::map<uint32_t, Total> totals_;
  uint32_t samples_ = 0;
};

}  // namespace autodist::agent
