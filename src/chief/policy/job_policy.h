// The stages of a job, from the first attempt to its end, and their transitions. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::chief {

enum class JobStage : uint8_t {
  kStarting,            // an attempt is made ready (start_policy.h)
  kRunning,             // its ranks run
  kEnding,              // they have been asked to end, or have ended
  kAwaitingLastOutput,  // waits for the ranks' last output, which says why they failed
  kPausing,             // until the next attempt
  kDrainingToFetch,     // nothing may be left that changes files
  kAwaitingFetches,     // waits for running fetches of clients
  kFetching,            // fetches the files of --fetch
  kLeaving,             // the agents have been asked to exit
  kGiveUpNotice,        // sends connected nodes that the chief waits no longer
  kAwaitingAgents,      // they have answered, and exit
  kOver,
};
inline constexpr size_t kJobStages = 12;

enum class StageEvent : uint8_t {
  kDone,             // the stage has done its work
  kNotStarted,       // there is no first attempt
  kAwaitLastOutput,  // the output of the ranks has to be known
  kRestart,          // there will be another attempt
  kFetch,            // files are to be fetched
  kAwaitFetch,       // only running fetches
  kEnd,              // the agents may exit
  kGivenUp,          // the chief waits no longer
};
inline constexpr size_t kStageEvents = 8;

JobStage Follow(JobStage from, StageEvent event);
const char* NameOf(JobStage stage);
const char* NameOf(StageEvent event);

// Decides about files when no attempt follows, and when nothing is left that changes them.
struct FetchWishes {
  bool wanted = false;  // by --fetch
  bool busy = false;    // a client fetches
  bool killing = false;
};
StageEvent BeforeLeaving(const FetchWishes& wishes);
StageEvent AfterFetches(const FetchWishes& wishes);

}  // namespace autodist::chief
