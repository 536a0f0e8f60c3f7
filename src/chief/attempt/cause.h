// What ended an attempt before all of its ranks had ended well.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

struct Cause {
  enum class Kind { kRankFailed, kNodeLost, kInterrupted, kTimedOut, kHung };
  Kind kind;
  uint32_t node_rank = 0;  // of kRankFailed and kNodeLost
  v1::RankExited exit;     // of kRankFailed; its time by our clock
  Status status;           // of kNodeLost
  int signal = 0;          // of kInterrupted
  // Of kRankFailed, where the rank called MPI_Abort, which counts, however it then ends; `exit` has
  // no more than the rank and the time.
  std::optional<v1::RankAborted> abort = std::nullopt;
  std::string by = {};  // of kInterrupted: what sent it, if it is known
};

// The exit code that a shell would give: the program's own, or 128 + the signal; of an abort what
// _exit would make of its status, but never 0.
int ExitCodeOf(const v1::RankExited& exit);
int ExitCodeOf(const v1::RankAborted& abort);

// "exited with code 3"
std::string HowItEnded(const v1::RankExited& exit);
std::string HowItEnded(const v1::RankAborted& abort);
std::string HowItEnded(const Cause& cause);  // of kRankFailed

// "rank 3 on node2"; of a node of the plan.
std::string NameAndNode(const v1::LaunchPlan& plan, uint32_t node_rank, uint32_t rank);

// "rank 3 on node2 exited with code 3". `plan` is the attempt's.
std::string DescribeCause(const Cause& cause, const v1::LaunchPlan& plan);

}  // namespace autodist::chief
