// How many collectives a process has entered, by who counts them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::agent {

// Of a group of ranks, which NCCL calls a communicator.
struct GroupCount {
  std::string source;  // "NCCL"
  pid_t pid = 0;       // 0: it says nothing of processes
  std::string group;   // its name, the same on all ranks
  uint64_t size = 0;   // ranks; 0: not known
  uint64_t entered = 0;
  std::optional<uint64_t> ended;       // absent: not known
  std::optional<int64_t> last_ago_ms;  // when it entered the last one; absent: not known
  // That is the same on all ranks that have entered as many: "all_reduce of [4]"; and before it,
  // the last one first.
  std::vector<std::string> what;
};

// "counted by NCCL for process 4711: group 0x1f of 4: 17 entered, 16 ended, the last 5012 ms ago;
// AllReduce 17", or "all_reduce of [4] < broadcast of [2]" for two operations, and a line feed,
// which why/rank_processes.h reads; printable.
std::string CountLine(const GroupCount& count);

}  // namespace autodist::agent
