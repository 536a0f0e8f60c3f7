// How an attempt is made ready: its stages, where each goes on, and what follows from how the nodes
// turned out. The same for the first launch, a plan with other ports, and a restart. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace autodist::chief {

enum class StartStage : uint8_t {
  kLaunching,            // agents are started, and prepare their nodes: the first time
  kGathering,            // which nodes there are for another plan is found out
  kPreparing,            // they are prepared for it
  kHearing,              // a call failed: which connection has broken?
  kCancelling,           // the calls that are under way end
  kAwaitingDevices,      // others have them; it is asked again later
  kAwaitingConnections,  // that are being made again, so that all can be asked
  kOpeningLogs,
  kAnnouncing,  // that all is ready
  kReady,
  kRefused,  // there will be no attempt
};
inline constexpr size_t kStartStages = 11;

enum class StartEvent : uint8_t {
  kDone,           // what the stage is for
  kUnsure,         // a node could not be reached
  kPlan,           // another plan is needed
  kBusy,           // others have the devices, for which the user wants to wait
  kFailed,         // for good
  kStopRequested,  // to stop
};
inline constexpr size_t kStartEvents = 6;

StartStage Follow(StartStage from, StartEvent event);
const char* NameOf(StartStage stage);
const char* NameOf(StartEvent event);

// What there is to be known when the nodes of a plan have been prepared for it.
struct PreparedNodes {
  bool refused = false;           // a node cannot run it, or the first launch failed as a whole
  bool cut_off = false;           // the connection with one broke
  bool lost = false;              // one is lost for good
  bool awaits_devices = false;    // nodes are asked again and again
  bool may_do_without = false;    // it is a restart, and has tries left
  bool addresses_differ = false;  // from those in the plan
  bool busy = false;              // devices that the user wants to wait for
  bool ports_taken = false;
  bool ports_may_move = false;
};

StartEvent Judge(const PreparedNodes& nodes);

}  // namespace autodist::chief
