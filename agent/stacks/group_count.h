// How many collectives a process has entered, by who counts them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace autodist::agent {

// Of a group of ranks, which NCCL calls a communicator.
struct GroupCount {
  std::string source;  // "NCCL"
  pid_t pid = 0;       // 0: it says nothing of processes
  std::string group;   // its name, the same on all ranks
  uint64_t size = 0;   // ranks; 0: not known
  uint64_t entered = 0;
  std::optional<uint64_t> ended;  // absent: not known
  std::string what;  // that is the same on all ranks that have entered as many: "all_reduce of [4]"
};

// "counted by NCCL for process 4711: group 0x1f of 4: 17 entered, 16 ended; AllReduce 17" and a
// line feed, which why/group_counts.h reads; printable.
std::string CountLine(const GroupCount& count);

}  // namespace autodist::agent
