#include "chief/policy/job_policy.h"

#include <array>

#include "chief/policy/stage_table.h"

namespace autodist::chief {
namespace job_table {
namespace {

using enum JobStage;
using Event = StageEvent;

constexpr auto kTable = std::to_array<StageRule<JobStage, StageEvent>>({
    {kStarting, Event::kDone, kRunning},
    {kStarting, Event::kNotStarted, kLeaving},
    {kStarting, Event::kFetch, kDrainingToFetch},
    {kStarting, Event::kAwaitFetch, kAwaitingFetches},
    {kStarting, Event::kEnd, kLeaving},

    {kRunning, Event::kDone, kEnding},

    {kEnding, Event::kAwaitLastOutput, kAwaitingLastOutput},
    {kEnding, Event::kFetch, kDrainingToFetch},
    {kEnding, Event::kAwaitFetch, kAwaitingFetches},
    {kEnding, Event::kEnd, kLeaving},

    {kAwaitingLastOutput, Event::kRestart, kPausing},
    {kAwaitingLastOutput, Event::kFetch, kDrainingToFetch},
    {kAwaitingLastOutput, Event::kAwaitFetch, kAwaitingFetches},
    {kAwaitingLastOutput, Event::kEnd, kLeaving},

    {kPausing, Event::kDone, kStarting},

    {kDrainingToFetch, Event::kDone, kAwaitingFetches},
    {kAwaitingFetches, Event::kFetch, kFetching},
    {kAwaitingFetches, Event::kEnd, kLeaving},
    {kFetching, Event::kDone, kLeaving},

    {kLeaving, Event::kDone, kAwaitingAgents},
    {kLeaving, Event::kGivenUp, kGiveUpNotice},
    {kGiveUpNotice, Event::kDone, kOver},
    {kAwaitingAgents, Event::kDone, kOver},
});
static_assert(HasEachPairOnce(kTable));

constexpr std::array<const char*, kJobStages> kStageNames = {
    "starting", "running",           "ending",           "awaiting last output",
    "pausing",  "draining to fetch", "awaiting fetches", "fetching",
    "leaving",  "give-up notice",    "awaiting agents",  "over"};

constexpr std::array<const char*, kStageEvents> kEventNames = {
    "done",        "not started", "await last output", "restart", "fetch",
    "await fetch", "end",         "given up"};

}  // namespace
}  // namespace job_table

JobStage Follow(JobStage from, StageEvent event) {
  return FollowIn(job_table::kTable, from, event);
}
const char* NameOf(JobStage stage) { return job_table::kStageNames[static_cast<size_t>(stage)]; }
const char* NameOf(StageEvent event) { return job_table::kEventNames[static_cast<size_t>(event)]; }

// After a request to kill, only waits for running fetches, which are cancelled.
StageEvent BeforeLeaving(const FetchWishes& wishes) {
  if (!wishes.wanted && !wishes.busy) return StageEvent::kEnd;
  return wishes.killing ? StageEvent::kAwaitFetch : StageEvent::kFetch;
}

StageEvent AfterFetches(const FetchWishes& wishes) {
  return wishes.wanted && !wishes.killing ? StageEvent::kFetch : StageEvent::kEnd;
}

}  // namespace autodist::chief
