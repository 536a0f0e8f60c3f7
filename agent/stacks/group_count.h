// The number of collectives that a process has entered, with the source of the count.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::agent {

// The count for a group of ranks, which NCCL calls a communicator.
struct GroupCount {
  std::string source;  // "NCCL"
  pid_t pid = 0;       // 0: unknown
  std::string group;   // name, the same on all ranks
  uint64_t size = 0;   // number of ranks; 0: unknown
  uint64_t entered = 0;
  std::optional<uint64_t> ended;       // absent: unknown
  std::optional<int64_t> last_ago_ms;  // when it entered the last one; absent: unknown
  // A description that is equal on all ranks with the same count: "all_reduce of [4]"; and earlier
  // operations, the last one first.
  std::vector<std::string> what;
};

// Formats "counted by NCCL for process 4711: group 0x1f of 4: 17 entered, 16 ended, the last 5012
// ms ago; AllReduce 17", or with two operations "all_reduce of [4] < broadcast of [2]", and a line
// feed. why/rank_processes.h parses it; printable.
std::string CountLine(const GroupCount& count);

}  // namespace autodist::agent
