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
    {kPreparing, Event::kUnsure, kAwaitingBreakReport},
    {kPreparing, Event::kPlan, kGathering},
    {kPreparing, Event::kBusy, kAwaitingDevices},
    {kPreparing, Event::kFailed, kRefused},
    {kPreparing, Event::kStopRequested, kCancelling},

    {kAwaitingBreakReport, Event::kDone, kOpeningLogs},
    {kAwaitingBreakReport, Event::kPlan, kGathering},
    {kAwaitingBreakReport, Event::kBusy, kAwaitingDevices},
    {kAwaitingBreakReport, Event::kFailed, kRefused},
    {kAwaitingBreakReport, Event::kStopRequested, kRefused},

    {kCancelling, Event::kDone, kRefused},

    {kAwaitingDevices, Event::kDone, kAwaitingConnections},
    {kAwaitingDevices, Event::kStopRequested, kRefused},
    {kAwaitingConnections, Event::kDone, kGathering},
    {kAwaitingConnections, Event::kStopRequested, kRefused},

    {kOpeningLogs, Event::kDone, kAnnouncing},
    {kOpeningLogs, Event::kPlan, kGathering},
    {kOpeningLogs, Event::kFailed, kRefused},
    {kOpeningLogs, Event::kStopRequested, kRefused},
    {kAnnouncing, Event::kDone, kReady},
    {kAnnouncing, Event::kPlan, kGathering},
    {kAnnouncing, Event::kStopRequested, kRefused},
});
static_assert(HasEachPairOnce(kTable));

constexpr std::array<const char*, kStartStages> kStageNames = {"launching",
                                                               "gathering",
                                                               "preparing",
                                                               "awaiting break report",
                                                               "cancelling",
                                                               "awaiting devices",
                                                               "awaiting connections",
                                                               "opening logs",
                                                               "announcing",
                                                               "ready",
                                                               "refused"};

constexpr std::array<const char*, kStartEvents> kEventNames = {"done", "unsure", "plan",
                                                               "busy", "failed", "stop requested"};

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

StartEvent Judge(const PreparedNodes& nodes) {
  if (nodes.refused) return StartEvent::kFailed;
  if (nodes.cut_off && nodes.awaits_devices)
    return nodes.lost ? StartEvent::kFailed : StartEvent::kBusy;
  if (nodes.cut_off) return nodes.may_do_without ? StartEvent::kPlan : StartEvent::kFailed;
  if (nodes.plan_differs) return StartEvent::kPlan;
  if (nodes.busy) return StartEvent::kBusy;
  if (nodes.ports_taken) return nodes.ports_may_move ? StartEvent::kPlan : StartEvent::kFailed;
  return StartEvent::kDone;
}

}  // namespace autodist::chief
