// Classifies what a rank is doing, from its stack and the kernel's state. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "why/calls.h"
#include "why/doing.h"
#include "why/rank_processes.h"

namespace autodist::why {

// The work of a rank's processes so far; CPU times in milliseconds.
struct Work {
  uint64_t at_ms = 0;  // when, by a clock of the rank's node
  uint64_t main_thread = 0;
  bool in_collective = false;  // the main thread is in a collective, and may busy-wait
  uint64_t other_threads = 0;
  uint64_t other_processes = 0;
  uint64_t bytes = 0;         // read and written, by files, pipes and TCP
  uint64_t written = 0;       // of these, to files and pipes
  uint64_t workers_read = 0;  // from files and pipes, by processes that multiprocessing has started
};

struct Activity {
  Doing doing = Doing::kUnknown;
  std::string collective;  // of kCollective: "all-reduce"; "": the frames do not say which
  Call call;               // of kCollective
  std::string words;       // "sleeps in step (train.py:41)"; short and sanitized, as the next
  std::string evidence;    // "step (train.py:41); sleeping in hrtimer_nanosleep"
  std::string source;      // "py-spy, /proc"
  std::string place;       // "step (train.py)": without a line; "": unknown
  std::optional<StackDepth> depth;  // without frames; absent: unknown
  std::string program;              // "python3 train.py": without its options
  uint64_t pid = 0;                 // 0: unknown
  std::vector<SentAgain> sent_again;
  std::vector<Connecting> connecting;
  std::string awaits_end;             // the other end of the socket at which it waits; "": unknown
  std::vector<std::string> own_ends;  // for connections of the rank
  NodeFacts node;
  std::vector<GroupCount> counts;
  bool awaits_input = false;    // its standard input, or a terminal
  bool awaits_stopped = false;  // one of the rank's processes is stopped
  bool has_frames = false;      // otherwise only the kernel's state is known
  std::string tool;             // that has shown the frames: "py-spy", "gdb"; "": none
  bool connects = false;        // its main thread connects to others
  bool meets = false;           // at the place where the ranks find each other
  bool polls = false;           // asks again and again whether the others have come, and so runs
  bool unasked = false;         // no program was asked for its frames
  bool is_at_end = false;       // a Python interpreter that joins its threads before it exits
  bool saves = false;           // is in a function that is named as one that saves
  bool awaits_service = false;  // waits for an answer at a connection that was accepted
  // It waits at a socket that leads to no rank: of Unix, or not accepted by any program.
  bool awaits_no_rank = false;
  bool loads = false;                // of kDataLoader: its workers are computing
  bool gets_on = false;              // it made progress between two samples
  std::optional<uint64_t> switches;  // voluntary context switches so far
  std::optional<Work> work;          // absent: unknown

  // It waits as ranks in a collective do, which frames would show.
  bool WaitsUnseen() const {
    return !awaits_stopped && (doing == Doing::kWait || doing == Doing::kSocket);
  }
  // It has no frames, so it may be in a collective that they would show.
  bool MayBeInCollective() const { return !has_frames && WaitsUnseen(); }

  // It makes progress without others, however long it takes.
  bool AtWork() const {
    return gets_on || loads || doing == Doing::kCompute || doing == Doing::kCompile ||
           doing == Doing::kCheckpoint;
  }
  bool MayBeAtWork() const { return AtWork() || doing == Doing::kUnknown; }
};

// Describes each process of a rank that takes part in the job, usually one; never empty. `text` is
// an untrusted agent's description of the rank. Paths below `folder`, the job's, are shown relative
// to it.
std::vector<Activity> ActivitiesOf(std::string_view text, const std::string& folder);

}  // namespace autodist::why
