#include "chief/policy/start_policy.h"

#include <array>

#include "chief/policy/stage_table.h"

namespace autodist::chief {
namespace start_table {
namespace {

using enum StartStage;
using Event = StartEvent;

constexpr auto kTable = std::to_array<StageRule<StartStage, StartEvent>>({
    {kLaunching, Event::kDone, kOpeningLogs},
    {kLaunching, Event::kPlan, kGathering},
    {kLaunching, Event::kBusy, kAwaitingDevices},
    {kLaunching, Event::kFailed, kRefused},
    {kLaunching, Event::kStopRequested, kRefused},

    {kGathering, Event::kDone, kPreparing},
    {kGathering, Event::kStopRequested, kRefused},

    {kPreparing, Event::kDone, kOpeningLogs},
    {kPreparing, Event::kPlan, kGathering},
    {kPreparing, Event::kBusy, kAwaitingDevices},
    {kPreparing, Event::kFailed, kRefused},
    {kPreparing, Event::kStopRequested, kCancelling},

    {kCancelling, Event::kDone, kRefused},

    {kAwaitingDevices, Event::kDone, kGathering},
    {kAwaitingDevices, Event::kStopRequested, kRefused},

    {kOpeningLogs, Event::kDone, kAnnouncing},
    {kOpeningLogs, Event::kPlan, kGathering},
    {kOpeningLogs, Event::kFailed, kRefused},
    {kOpeningLogs, Event::kStopRequested, kRefused},
    {kAnnouncing, Event::kDone, kReady},
    {kAnnouncing, Event::kPlan, kGathering},
    {kAnnouncing, Event::kStopRequested, kRefused},
});
static_assert(HasEachPairOnce(kTable));

constexpr std::array<const char*, kStartStages> kStageNames = {
    "launching",    "gathering",  "preparing", "cancelling", "awaiting devices",
    "opening logs", "announcing", "ready",     "refused"};

constexpr std::array<const char*, kStartEvents> kEventNames = {"done", "plan", "busy", "failed",
                                                               "stop requested"};

}  // namespace
}  // namespace start_table

StartStage Follow(StartStage from, StartEvent event) {
  return FollowIn(start_table::kTable, from, event);
}
const char* NameOf(StartStage stage) {
  return start_table::kStageNames[static_cast<size_t>(stage)];
}
const char* NameOf(StartEvent event) {
  return start_table::kEventNames[static_cast<size_t>(event)];
}

}  // namespace autodist::chief
