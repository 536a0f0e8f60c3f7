// What a rank is doing, in one word, by what its stack and the kernel tell. Pure logic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "why/doing.h"
#include "why/rank_processes.h"

namespace autodist::why {

// What a rank's processes have done so far: milliseconds of CPU.
struct Work {
  uint64_t at_ms = 0;  // when, by a clock of its node
  uint64_t main_thread = 0;
  bool in_collective = false;  // the main thread is, and may wait busily
  uint64_t other_threads = 0;
  uint64_t other_processes = 0;
  uint64_t bytes = 0;  // read and written, by files, pipes and TCP
};

struct Activity {
  Doing doing = Doing::kUnknown;
  std::string collective;  // of kCollective: "all-reduce"; "": its frames do not say which
  std::string words;       // "sleeps in step (train.py:41)"; short and harmless, as the next
  std::string evidence;    // "step (train.py:41); sleeping in hrtimer_nanosleep"
  std::string source;      // "py-spy, /proc"
  std::string place;       // "step (train.py)": without a line; "": not known
  uint64_t pid = 0;        // 0: not known
  std::vector<SentAgain> sent_again;
  std::vector<GroupCount> counts;
  bool awaits_stopped = false;       // a process of its is stopped
  bool has_frames = false;           // else there are the kernel's words alone
  bool is_at_end = false;            // a Python that waits for its threads before it ends
  bool loads = false;                // of kDataLoader: what it has started to load computes
  bool gets_on = false;              // as what it has done between two looks shows
  std::optional<uint64_t> switches;  // how often it has gone to sleep so far
  std::optional<Work> work;          // absent: not known

  // It may as well be in a collective, which its frames would show: there are none.
  bool MayBeInCollective() const {
    return !has_frames && !awaits_stopped && (doing == Doing::kWait || doing == Doing::kSocket);
  }

  // It gets on by itself, however long that may take.
  bool AtWork() const {
    return gets_on || loads || doing == Doing::kCompute || doing == Doing::kCompile ||
           doing == Doing::kCheckpoint;
  }
  bool MayBeAtWork() const { return AtWork() || doing == Doing::kUnknown; }
};

// Of each process of a rank that takes part in the job, mostly one; never empty. `text` is what an
// agent that may lie tells of the rank. Files below `folder`, the job's, are named from there on.
std::vector<Activity> ActivitiesOf(std::string_view text, const std::string& folder);

}  // namespace autodist::why
