// The stages of the start of an attempt, and their transitions. The same for the first launch, a
// plan with other ports, and a restart. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::chief {

enum class StartStage : uint8_t {
  kLaunching,        // first attempt only: agents are started and prepare their nodes
  kGathering,        // waits for nodes, to find out which are available for another plan
  kPreparing,        // the nodes are prepared for that plan
  kCancelling,       // running calls are cancelled
  kAwaitingDevices,  // others use the devices; the chief asks again later
  kOpeningLogs,
  kAnnouncing,  // announces that all is ready
  kReady,
  kRefused,  // there will be no attempt
};
inline constexpr size_t kStartStages = 9;

enum class StartEvent : uint8_t {
  kDone,           // the stage has done its work
  kPlan,           // another plan is needed
  kBusy,           // others use the devices, and the user wants to wait
  kFailed,         // for good
  kStopRequested,  // the job was asked to stop
};
inline constexpr size_t kStartEvents = 5;

StartStage Follow(StartStage from, StartEvent event);
const char* NameOf(StartStage stage);
const char* NameOf(StartEvent event);

}  // namespace autodist::chief
