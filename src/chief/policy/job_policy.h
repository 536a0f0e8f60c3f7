// What a job does, from the first attempt until nothing of it is left: its stages, and where each
// goes on. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::chief {

enum class JobStage : uint8_t {
  kStarting,         // an attempt is made ready (start_policy.h)
  kRunning,          // its ranks run
  kEnding,           // they have been told to end, or have ended
  kHearingOut,       // what the first of them wrote comes: does it say that a port was taken?
  kDraining,         // nothing of the attempt may be left before the next
  kPausing,          // until the next attempt
  kDrainingToFetch,  // nothing may be left that changes files
  kAwaitingFetches,  // that others wait for
  kFetching,         // what --fetch asks for
  kLeaving,          // the agents have been told to go
  kLastWord,         // they hear that nobody waits any longer
  kAwaitingAgents,   // they have answered, and go
  kOver,
};
inline constexpr size_t kJobStages = 13;

enum class StageEvent : uint8_t {
  kDone,        // what the stage is for
  kNotStarted,  // there is no first attempt
  kHearOut,     // it has to be known what the first rank wrote
  kRestart,     // there will be another attempt
  kFetch,       // files are to be fetched
  kAwaitFetch,  // nothing but fetches that are under way
  kEnd,         // the agents may go
  kGivenUp,     // nothing is waited for
};
inline constexpr size_t kStageEvents = 8;

JobStage Follow(JobStage from, StageEvent event);
const char* NameOf(JobStage stage);
const char* NameOf(StageEvent event);

// How an attempt ended, and what may follow.
struct EndedAttempt {
  bool failed = false;  // it has a cause
  bool over = false;    // none of its ranks is left
  bool stop_requested = false;
  bool port_may_be_taken = false;  // what it wrote would tell
};

// Whether to hear it out (kHearOut), to ask the restart policy (kRestart), or neither (kEnd).
StageEvent AfterAttempt(const EndedAttempt& ended);

// Files, when there is no further attempt; and when nothing is left that changes them.
struct FetchWishes {
  bool wanted = false;  // by --fetch
  bool busy = false;    // somebody fetches
  bool killing = false;
};
StageEvent BeforeLeaving(const FetchWishes& wishes);
StageEvent AfterFetches(const FetchWishes& wishes);

}  // namespace autodist::chief
