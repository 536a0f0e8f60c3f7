#include "chief/fleet/node_machine.h"

#include <algorithm>
#include <array>
#include <bit>

namespace autodist::chief {
namespace {

using enum NodeState;
using Event = NodeEvent;
using Do = NodeAction;

constexpr uint32_t Bit(NodeState state) { return 1u << static_cast<unsigned>(state); }

template <typename... States>
constexpr uint32_t In(States... states) {
  return (Bit(states) | ...);
}

constexpr uint32_t kReaching = In(kUnknown, kConnecting, kBootstrapping, kProbing);
constexpr uint32_t kIdle = In(kLinked, kReady, kSpare);
constexpr uint32_t kEnding = In(kStopping, kDraining, kDrained);
constexpr uint32_t kConnected = kIdle | In(kReturned, kMember) | kEnding;
constexpr uint32_t kAlive = kConnected | In(kDisconnected);
constexpr uint32_t kOver = In(kGone, kLost, kQuarantined);

constexpr NodeRule To(Event event, uint32_t from, NodeState to, Do action, const char* why) {
  return {event, from, to, false, action, why};
}

constexpr NodeRule Stay(Event event, uint32_t from, Do action, const char* why) {
  return {event, from, kUnknown, true, action, why};
}

constexpr NodeRule Ignore(Event event, uint32_t from, const char* why) {
  return Stay(event, from, Do::kNone, why);
}

constexpr std::array kRules = {
    To(Event::kConnect, kReaching, kConnecting, Do::kNone,
       "repeated while the node may be booting"),
    Ignore(Event::kConnect, kAlive | kOver, "Reconnection makes the connection"),

    To(Event::kBootstrap, kReaching, kBootstrapping, Do::kNone, ""),
    Ignore(Event::kBootstrap, kAlive | kOver, "as above"),

    To(Event::kProbe, kReaching, kProbing, Do::kNone, ""),
    Ignore(Event::kProbe, kAlive | kOver, "it is prepared for another attempt"),

    To(Event::kLink, kReaching, kLinked, Do::kOpenSession, ""),
    To(Event::kLink, In(kGone, kLost), kReturned, Do::kOpenSession, "a lost node may rejoin"),
    Ignore(Event::kLink, kAlive, "it has a session"),
    Ignore(Event::kLink, In(kQuarantined), "it is not trusted"),

    To(Event::kAnswer, In(kLinked), kReady, Do::kNone, ""),
    To(Event::kAnswer, In(kReturned), kDraining, Do::kSendEnd,
       "it is prepared only when nothing of an earlier attempt is left"),
    Ignore(Event::kAnswer, (kConnected & ~In(kLinked, kReturned)) | In(kDisconnected),
           "a disconnected node takes the answer in its previous state"),
    Ignore(Event::kAnswer, kReaching | kOver, "of a session that has ended"),

    To(Event::kPrepare, kIdle | In(kDrained), kReady, Do::kBeginStreams, ""),
    Ignore(Event::kPrepare, In(kReturned, kMember, kStopping, kDraining), "ranks may run there"),
    Ignore(Event::kPrepare, kReaching | In(kDisconnected) | kOver, "it is not connected"),

    To(Event::kChoose, kIdle, kMember, Do::kNone, ""),
    Ignore(Event::kChoose, In(kMember), "it is a member already"),
    Ignore(Event::kChoose, In(kReturned) | kEnding, "it was ordered to end meanwhile"),
    Ignore(Event::kChoose, kReaching | kOver, "it was lost meanwhile"),

    To(Event::kPassOver, kIdle | In(kDrained), kSpare, Do::kNone, ""),
    Ignore(Event::kPassOver, In(kReturned, kMember, kStopping, kDraining),
           "its ranks have yet to end"),
    Ignore(Event::kPassOver, kReaching | kOver, "it is not alive"),

    To(Event::kStop, kIdle | In(kMember), kStopping, Do::kNone, ""),
    Ignore(Event::kStop, In(kReturned) | kEnding, "it is ending already, or will"),
    Ignore(Event::kStop, kReaching | kOver, "nothing runs there"),

    To(Event::kDrain, kIdle | In(kReturned, kMember, kStopping), kDraining, Do::kSendEnd, ""),
    Ignore(Event::kDrain, In(kDraining, kDrained), "it has the order"),
    Ignore(Event::kDrain, kReaching | kOver, "nothing runs there"),

    To(Event::kDismiss, kIdle | In(kReturned, kMember, kStopping, kDraining), kDraining,
       Do::kSendEnd, ""),
    Stay(Event::kDismiss, In(kDrained), Do::kSendEnd, "its agent exits"),
    Ignore(Event::kDismiss, kReaching | kOver, "no agent is there, or it is ignored"),

    To(Event::kRanksEnded, In(kDraining), kDrained, Do::kNone, ""),
    Ignore(Event::kRanksEnded, kIdle | In(kReturned, kMember, kStopping, kDrained),
           "an answer to an earlier order"),
    Ignore(Event::kRanksEnded, kReaching | kOver, "as above"),

    To(Event::kBreak, kAlive, kDisconnected, Do::kReconnect, ""),
    Ignore(Event::kBreak, kReaching | kOver, "it has no session"),

    To(Event::kLeave, kAlive, kGone, Do::kNone, ""),
    Ignore(Event::kLeave, kReaching | kOver, "it has no session"),

    Stay(Event::kEvict, kAlive, Do::kReportEviction, "its agent is stopping its ranks"),
    Ignore(Event::kEvict, kReaching | kOver, "it has no session"),

    To(Event::kLost, kAlive, kLost, Do::kReportLoss, ""),
    To(Event::kLost, kReaching, kLost, Do::kNone, "the job starts without it; the launch says so"),
    Ignore(Event::kLost, kOver, "it is over"),

    To(Event::kRefuse, kAlive, kQuarantined, Do::kReportLoss, ""),
    Ignore(Event::kRefuse, kReaching | kOver, "it has no session"),
};

// These events concern the role of a node; on a disconnected node they apply to the kept state.
constexpr bool IsOfRole(Event event) {
  return event == Event::kChoose || event == Event::kPassOver || event == Event::kStop ||
         event == Event::kDrain || event == Event::kDismiss || event == Event::kRanksEnded;
}

constexpr bool EveryPairIsDecidedOnce() {
  for (unsigned event = 0; event < kNodeEvents; ++event) {
    uint32_t decided = 0;
    for (const NodeRule& rule : kRules) {
      if (static_cast<unsigned>(rule.event) != event) continue;
      if ((decided & rule.from) != 0) return false;
      decided |= rule.from;
    }
    const uint32_t all = (1u << kNodeStates) - 1;
    const uint32_t by_table = IsOfRole(static_cast<Event>(event)) ? all & ~In(kDisconnected) : all;
    if (decided != by_table) return false;
  }
  return true;
}
static_assert(EveryPairIsDecidedOnce());

constexpr std::array<const char*, kNodeStates> kStateNames = {
    "unknown",      "connecting", "bootstrapping", "probing",    "linked",   "returned",
    "ready",        "spare",      "member",        "stopping",   "draining", "drained",
    "disconnected", "gone",       "lost",          "quarantined"};

constexpr std::array<const char*, kNodeEvents> kEventNames = {
    "connect", "bootstrap", "probe", "link",  "answer",  "prepare",
    "choose",  "pass over", "stop",  "drain", "dismiss", "ranks ended",
    "break",   "leave",     "evict", "lost",  "refuse"};

constexpr std::array<const char*, 7> kActionNames = {
    "", "open session", "begin streams", "send end", "reconnect", "report eviction", "report loss"};

// Returns the detail of a node that is being reached, shown beside the phase.
std::string DetailOf(NodeState state) {
  switch (state) {
    case kConnecting:
      return "connecting";
    case kBootstrapping:
      return "starting its agent";
    case kProbing:
      return "preparing";
    default:
      return "";
  }
}

}  // namespace

NodeTransition Follow(NodeState from, NodeEvent event) {
  const auto rule = std::ranges::find_if(
      kRules, [&](const NodeRule& it) { return it.event == event && (it.from & Bit(from)) != 0; });
  if (rule == kRules.end()) return {from, NodeAction::kNone};
  return {rule->stays ? from : rule->to, rule->action};
}

std::span<const NodeRule> NodeRules() { return kRules; }

v1::NodePhase PhaseOf(NodeState state) {
  switch (state) {
    case kUnknown:
    case kConnecting:
    case kBootstrapping:
    case kProbing:
      return v1::NODE_PHASE_LAUNCHING;
    case kLinked:
    case kReady:
    case kSpare:
      return v1::NODE_PHASE_READY;
    case kMember:
      return v1::NODE_PHASE_RUNNING;
    case kReturned:
    case kStopping:
    case kDraining:
    case kDrained:
      return v1::NODE_PHASE_STOPPING;
    case kDisconnected:
      return v1::NODE_PHASE_RECONNECTING;
    case kGone:
      return v1::NODE_PHASE_ENDED;
    case kLost:
    case kQuarantined:
      break;
  }
  return v1::NODE_PHASE_LOST;
}

bool IsAlive(NodeState state) { return (kAlive & Bit(state)) != 0; }

const char* NameOf(NodeState state) { return kStateNames[static_cast<size_t>(state)]; }
const char* NameOf(NodeEvent event) { return kEventNames[static_cast<size_t>(event)]; }
const char* NameOf(NodeAction action) { return kActionNames[static_cast<size_t>(action)]; }

NodeAction NodeMachine::Take(NodeEvent event, const std::string& why) {
  if (disconnected() && IsOfRole(event)) {
    const NodeTransition meanwhile = Follow(before_, event);
    before_ = meanwhile.to;
    return meanwhile.action;
  }
  const NodeState from = state_;
  const bool again = from == kDisconnected && event == Event::kAnswer;
  const NodeTransition next = Follow(again ? before_ : from, event);
  state_ = next.to;
  if (from != kDisconnected && state_ == kDisconnected) before_ = from;
  if (next.action == NodeAction::kOpenSession) evicted_ = false;
  if (next.action == NodeAction::kReportEviction) evicted_ = true;
  if (phase() != PhaseOf(from)) {
    detail_ = why;
  } else if (state_ != from && !alive()) {
    detail_ = DetailOf(state_);
  }
  return next.action;
}

}  // namespace autodist::chief
