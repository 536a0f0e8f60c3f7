// The processes of a rank, as described by its agent (agent/stacks/stacks.h). Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "why/stack_frames.h"

namespace autodist::why {

// The work of a process so far.
struct ProcessWork {
  uint64_t at_ms = 0;           // when, by a clock of the node
  uint64_t cpu_ms = 0;          // without threads that busy-wait
  uint64_t main_thread_ms = 0;  // of the main thread
  uint64_t bytes = 0;           // read and written, by files, pipes and TCP
  uint64_t read = 0;            // of these, from files and pipes
  uint64_t written = 0;         // to them
};

// TCP retransmissions to another machine.
struct SentAgain {
  std::string peer;         // its address
  uint64_t again = 0;       // retransmitted segments so far
  uint64_t sent = 0;        // segments sent so far
  uint64_t unanswered = 0;  // retransmissions of the oldest unacknowledged segment
};

// A connection attempt that has not been answered yet.
struct Connecting {
  std::string to;      // "10.0.0.3:5000"
  uint64_t again = 0;  // how often the SYN was sent again
};

// The collectives of a group of ranks, as counted by one of the rank's libraries.
struct GroupCount {
  std::string source;  // "NCCL"
  uint64_t pid = 0;    // of the process that counts; 0: unknown
  std::string group;
  uint64_t entered = 0;
  std::optional<uint64_t> last_ago_ms;  // when it entered the last one; absent: unknown
  // The last collectives, newest first, which are the same on all ranks that have entered as many;
  // empty: unknown.
  std::vector<std::string> what;

  bool operator==(const GroupCount&) const = default;
};

// Where a main thread waits, by the kernel's data alone.
struct StackDepth {
  uint64_t bytes = 0;  // since the program started
  std::string at;      // the last bits of the address of the system call: "f16"
  std::string code;    // a hash of the program and its large libraries
};

// Why a process has no frames if no program was asked for them.
inline constexpr std::string_view kNotRequested = "none were requested";

struct RankProcess {
  uint64_t pid = 0;
  uint64_t parent = 0;  // 0: unknown
  std::string command;
  bool ended = false;  // a zombie, or it has ended while its stacks were collected
  std::string holder;  // a debugger that has stopped it: "gdb (4711)"
  std::string state;   // of the main thread: "sleeping in pipe_read, system call 0"
  std::string file;    // that its main thread reads, writes or opens; "": none or unknown
  // It reads its standard input, or from its terminal.
  bool AwaitsInput() const { return file == "its input" || file == "/dev/tty"; }
  std::optional<StackDepth> depth;   // of the main thread; absent: unknown
  std::optional<uint64_t> switches;  // voluntary context switches of the main thread
  std::optional<ProcessWork> work;   // absent: unknown
  std::vector<SentAgain> sent_again;
  std::vector<Connecting> connecting;
  std::vector<std::string> own_ends;  // for each connection: "10.0.0.3:4711"
  std::string missing;                // why it has no frames, or no Python frames
  std::string source;                 // the tool that showed the frames: "py-spy", "gdb"; "": none
  std::vector<ThreadStack> threads;   // [0], if any, is the main thread

  // The main thread; without frames if they are unknown.
  const ThreadStack& stack() const;
  // The file name of the program: "bash".
  std::string ProgramName() const;
  bool IsShell() const;
  // It only waits for another process.
  bool AwaitsAnother() const;
  // The kernel's state contains this part.
  bool StateHas(std::string_view part) const { return state.find(part) != std::string::npos; }
};

// Reads the processes, without ended ones whose frames are unknown; the first is the rank itself.
// `text` comes from an untrusted agent: texts in the result are neither short nor printable. Reads
// limited numbers of processes and counts.
std::vector<RankProcess> ReadProcesses(std::string_view text);

// Reads the same text; returns each group once.
std::vector<GroupCount> ReadGroupCounts(std::string_view text);

// Facts about the rank's node.
struct NodeFacts {
  // Connections that have failed on the node between two samples, of whichever process.
  struct Failed {
    std::string to;        // "127.0.0.1:12355"
    uint64_t number = 0;   // of attempts
    bool refused = false;  // no program listens there; otherwise no answer, or a rejection
  };
  std::vector<Failed> failed;
  // The busiest program of others: "python3 train.py (process 4711) uses 0.9 cores"; or "".
  std::string other_program;
};

// Reads the same text. Reads limited numbers of facts.
NodeFacts ReadNodeFacts(std::string_view text);

// Returns the first process that does not wait for another, else the first; nullptr if empty.
const RankProcess* AtWork(const std::vector<RankProcess>& processes);

}  // namespace autodist::why
