// The processes of a rank, as its agent tells of them (agent/stacks/stacks.h). Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "why/stack_frames.h"

namespace autodist::why {

// What a process has done so far.
struct ProcessWork {
  uint64_t at_ms = 0;           // when, by a clock of its machine
  uint64_t cpu_ms = 0;          // without what waits busily
  uint64_t main_thread_ms = 0;  // of it
  uint64_t bytes = 0;           // read and written, by files, pipes and TCP
};

// What had to be sent again to another machine, as it was not acknowledged in time.
struct SentAgain {
  std::string peer;         // its address
  uint64_t again = 0;       // segments of TCP so far
  uint64_t sent = 0;        // of them
  uint64_t unanswered = 0;  // how often the oldest was that is not acknowledged
};

// The collectives of a group of ranks, as one of the libraries that the rank uses counts them.
struct GroupCount {
  std::string source;  // "NCCL"
  uint64_t pid = 0;    // of whose process; 0: it is not said
  std::string group;
  uint64_t entered = 0;
  std::optional<uint64_t> last_ago_ms;  // when it entered the last one; absent: not said
  // That is the same on all ranks that have entered as many, and before it, the last one first;
  // empty: not said.
  std::vector<std::string> what;

  bool operator==(const GroupCount&) const = default;
};

struct RankProcess {
  uint64_t pid = 0;
  uint64_t parent = 0;  // 0: not known
  std::string command;
  std::string holder;  // a debugger that has stopped it: "gdb (4711)"
  std::string state;   // of its main thread: "sleeping in pipe_read, system call 0"
  std::string file;    // that its main thread reads, writes or opens; "": none, or not known
  std::optional<uint64_t> switches;  // how often its main thread has gone to sleep so far
  std::optional<ProcessWork> work;   // absent: not known
  std::vector<SentAgain> sent_again;
  std::string missing;               // why it has no frames, or no frames of Python's
  std::string source;                // who has shown the frames: "py-spy", "gdb"; "": nobody
  std::vector<ThreadStack> threads;  // of which [0], where there is any, is the main one

  // Of the main thread; without frames where there are none.
  const ThreadStack& stack() const;
  // It does nothing but wait for another process.
  bool AwaitsAnother() const;
  // The kernel's words have this part.
  bool StateHas(std::string_view part) const { return state.find(part) != std::string::npos; }
};

// Those that have not ended, the first one being the rank itself. `text` is of an agent that may
// lie: what is in the result is neither short nor printable.
std::vector<RankProcess> ReadProcesses(std::string_view text);

// Of the same text, each group once.
std::vector<GroupCount> ReadGroupCounts(std::string_view text);

// The first one that does not wait for another, else the first; nullptr where there is none.
const RankProcess* AtWork(const std::vector<RankProcess>& processes);

}  // namespace autodist::why
