// The stages of the start of an attempt, their transitions, and the decision after the nodes were
// prepared. The same for the first launch, a plan with other ports, and a restart. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::chief {

enum class StartStage : uint8_t {
  kLaunching,            // first attempt only: agents are started and prepare their nodes
  kGathering,            // finds out which nodes are available for another plan
  kPreparing,            // the nodes are prepared for that plan
  kAwaitingBreakReport,  // a call failed; waits until it is known which connection is broken
  kCancelling,           // running calls are cancelled
  kAwaitingDevices,      // others use the devices; the chief asks again later
  kAwaitingConnections,  // connections are made again, so that all nodes can be asked
  kOpeningLogs,
  kAnnouncing,  // announces that all is ready
  kReady,
  kRefused,  // there will be no attempt
};
inline constexpr size_t kStartStages = 11;

enum class StartEvent : uint8_t {
  kDone,           // the stage has done its work
  kUnsure,         // a node could not be reached
  kPlan,           // another plan is needed
  kBusy,           // others use the devices, and the user wants to wait
  kFailed,         // for good
  kStopRequested,  // the job was asked to stop
};
inline constexpr size_t kStartEvents = 6;

StartStage Follow(StartStage from, StartEvent event);
const char* NameOf(StartStage stage);
const char* NameOf(StartEvent event);

// What is known after the nodes of a plan have been prepared.
struct PreparedNodes {
  bool refused = false;         // a node cannot run it, or the first launch failed as a whole
  bool cut_off = false;         // the connection to a node broke
  bool lost = false;            // a node is lost for good
  bool awaits_devices = false;  // nodes are asked repeatedly
  bool may_do_without = false;  // it is a restart with tries left
  bool plan_differs = false;    // from the one for which they were prepared
  bool busy = false;            // devices are in use, and the user wants to wait
  bool ports_taken = false;
  bool ports_may_move = false;
};

StartEvent Judge(const PreparedNodes& nodes);

}  // namespace autodist::chief
