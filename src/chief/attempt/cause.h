// The cause that ended an attempt before all ranks had ended with 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"

namespace autodist::chief {

struct Cause {
  enum class Kind { kRankFailed, kNodeLost, kInterrupted, kTimedOut, kHung };
  Kind kind;
  uint32_t node_rank = 0;  // of kRankFailed and kNodeLost
  v1::RankExited exit;     // of kRankFailed; time by the chief's clock
  Status status;           // of kNodeLost
  int signal = 0;          // of kInterrupted
  // Of kRankFailed, if the rank called MPI_Abort; takes precedence over how the rank then ends.
  // `exit` has only the rank and the time.
  std::optional<v1::RankAborted> abort = std::nullopt;
  std::string by = {};          // of kInterrupted: the sender, if known
  int64_t last_contact_ns = 0;  // of kNodeLost: since 1970, by the chief's clock
};

// Returns the exit code that a shell would give: the program's exit code, or 128 + the signal. For
// an abort, the low 8 bits of the status, but never 0.
int ExitCodeOf(const v1::RankExited& exit);
int ExitCodeOf(const v1::RankAborted& abort);

// What an exit code means if it is that of a shell; "": nothing. Programs that handle another
// signal may exit so themselves. `sender`: follows the signal's name, ", not by autodist".
std::string MeaningOfExitCode(int code, const std::string& sender = "");

// Returns whether it was ended by SIGBUS, or is a shell whose program was.
bool IsBusError(const v1::RankExited& exit);

// Returns whether a signal that autodist had passed on ended it.
bool EndedByPassedOnSignal(const v1::RankExited& exit);

// "exited with code 3"
std::string HowItEnded(const v1::RankExited& exit);
std::string HowItEnded(const v1::RankAborted& abort);
std::string HowItEnded(const Cause& cause);  // of kRankFailed

// Who asked the job to stop: `by` if it is known, else the signal.
std::string SenderOf(int signal, const std::string& by);

// "rank" or "ranks"; "process" or "processes" if autodist starts one program for several ranks, as
// the names in the plan say.
std::string NounFor(size_t count, const v1::LaunchPlan& plan);

// "rank 3 on node2", for a node of the plan.
std::string NameAndNode(const v1::LaunchPlan& plan, uint32_t node_rank, uint32_t rank);

// "rank 3 on node2 exited with code 3". `plan`: the attempt's.
std::string DescribeCause(const Cause& cause, const v1::LaunchPlan& plan);
// The same, to follow "because".
std::string NameCause(const Cause& cause, const v1::LaunchPlan& plan);

// Returns the length of ", train.py:41" at the end of a fatal message; 0: there is no place.
size_t LengthOfPlace(std::string_view message);

// For messages of one line.
inline constexpr size_t kMaxCauseLength = 200;  // bytes
// Shortens a text to that length, but keeps the place.
std::string Shortened(std::string_view text);
// Joins causes by "; because of it, ", the first cause first; leaves out what does not fit.
std::string InOneLine(const std::vector<std::string>& causes);

}  // namespace autodist::chief
