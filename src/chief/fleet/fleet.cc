#include "chief/fleet/fleet.h"

#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/proof_of_end.h"
#include "base/quantity.h"
#include "kubernetes/eviction.h"
#include "rpc/message_rules.h"
#include "slurm/eviction.h"

namespace autodist::chief {
namespace {

using base::LogLevel;
using std::chrono::milliseconds;

// Allows two and a half renewal intervals.
milliseconds SilenceLimit(milliseconds lease, int nodes) {
  return std::max(LeaseTimer::kSilenceLimit, 5 * launch::RenewalInterval(lease, nodes) / 2);
}

// The detail of a node whose agent is silent.
constexpr char kSilent[] = "its agent does not answer";

milliseconds Between(Loop::Time from, Loop::Time to) {
  return std::chrono::duration_cast<milliseconds>(to - from);
}

}  // namespace

Fleet::Fleet(const v1::LaunchPlan& plan, Lease lease, Loop& loop, OutputRouter& output,
             Console& console, FleetListener& listener)
    : plan_(plan),
      lease_(lease),
      loop_(loop),
      console_(console),
      listener_(listener),
      ledger_(static_cast<size_t>(plan.nodes_size())),
      inbox_(loop, output, *this),
      reconnection_(lease.time, loop),
      leases_(launch::RenewalInterval(lease.time, plan.nodes_size()),
              static_cast<size_t>(plan.nodes_size()), loop, nodes_, ledger_,
              {[this](uint32_t node) {
                 TakeClosed(node, nodes_[node].session->connection(),
                            Error(StatusCode::kUnavailable, kSilent));
               },
               [this](uint32_t node) { Expire(node); },
               [this](uint32_t node) { return BeingLinked(node); }}) {
  const LeaseTimer timer(lease.time, SilenceLimit(lease.time, plan.nodes_size()), lease.end_time);
  nodes_.reserve(static_cast<size_t>(plan.nodes_size()));
  for (uint32_t i = 0; i < static_cast<uint32_t>(plan.nodes_size()); ++i) {
    nodes_.emplace_back(std::make_unique<Node>(i, inbox_, loop), timer);
    nodes_.back().member = i;
    members_.push_back(i);
  }
  loop.AddTimer([this] {
    inbox_.TakeQuiet();
    const Loop::Time leases = leases_.Tick();
    return std::min(leases, inbox_.due());
  });
}

void Fleet::DisconnectAtExit() {
  std::vector<std::shared_ptr<launch::NodeLink>> links;
  for (FleetNode& node : nodes_) links.push_back(node.session->Disconnect());
  // All have been detached, so that all end at the same time.
  for (const auto& link : links) {
    if (link) link->EndAtExit();
  }
}

const std::string& Fleet::AddressOf(uint32_t node) const {
  return plan_.nodes(static_cast<int>(node)).address();
}

void Fleet::LogNode(LogLevel level, uint32_t node, const std::string& what) {
  const size_t number = reported_.Add(level, loop_.Now(), [](LogLevel, size_t) {});
  if (number > reported_.kMax) return;
  const bool last = number == reported_.kMax;
  console_.Log(level, AddressOf(node) + what + (last ? "; further nodes are not listed" : ""));
}

bool Fleet::All(const std::function<bool(uint32_t node)>& holds) const {
  return all_(nodes_.size(), [&](size_t node) { return holds(static_cast<uint32_t>(node)); });
}

bool Fleet::AllResumed() const {
  return All([this](uint32_t node) {
    return !nodes_[node].machine.alive() || nodes_[node].session->resumed();
  });
}

bool Fleet::AnyMemberDisconnected() const {
  return disconnected_ > 0 && std::ranges::any_of(members_, [this](uint32_t node) {
           return state(node).disconnected();
         });
}

bool Fleet::AnyEvicted() const {
  return !All([this](uint32_t node) {
    return !nodes_[node].machine.alive() || !nodes_[node].machine.evicted();
  });
}

NodeAction Fleet::Take(uint32_t number, NodeEvent event, const std::string& why) {
  FleetNode& node = nodes_[number];
  const v1::NodePhase before = node.machine.phase();
  const bool drained = node.machine.drained();
  const NodeAction action = node.machine.Take(event, why);
  if (node.machine.state() == NodeState::kMember) node.lost_because = OkStatus();
  if (const v1::NodePhase now = node.machine.phase(); now != before) {
    if (before == v1::NODE_PHASE_RECONNECTING) --disconnected_;
    if (now == v1::NODE_PHASE_RECONNECTING) ++disconnected_;
    listener_.OnPhase(number, now, node.machine.detail());
  }
  Do(number, action, drained);
  return action;
}

void Fleet::Do(uint32_t number, NodeAction action, bool drained) {
  FleetNode& node = nodes_[number];
  switch (action) {
    case NodeAction::kNone:
    case NodeAction::kOpenSession:  // done by Add, which has the link
      break;
    case NodeAction::kBeginStreams:
      return node.session->BeginAttempt();
    case NodeAction::kSendEnd:
      return SendEnd(node);
    case NodeAction::kReconnect:
      EndsByLease(number);
      return reconnection_.Resume(number, node, [this, number](const launch::LaunchedNode& linked) {
        Reconnected(number, linked);
      });
    case NodeAction::kReportEviction:
      // Asks a draining agent to exit, because no attempt follows on its node.
      if (node.machine.draining() && !orders_.leaving) SendEnd(node);
      return listener_.OnEvicted(number, node.member, kubernetes::Evicted());
    case NodeAction::kReportLoss:
      node.session->DropMessages();
      EndsByLease(number);
      ledger_.Ended(number, node.lost_because);
      return listener_.OnLost(number, node.member, node.lost_because, drained);
  }
}

void Fleet::EndsByLease(uint32_t number) {
  const FleetNode& node = nodes_[number];
  ledger_.EndsBy(number, node.lease.RanksGoneAt(node.session->last_contact()));
}

void Fleet::StartWithout(uint32_t number, const Status& why) {
  nodes_[number].lost_because = why;
  Take(number, NodeEvent::kLost, Message(why));
}

void Fleet::MarkLost(uint32_t number, NodeEvent event, const Status& why) {
  if (!nodes_[number].machine.alive()) return;
  nodes_[number].lost_because = why;
  Take(number, event, Message(why));
}

void Fleet::Add(uint32_t number, const std::shared_ptr<launch::NodeLink>& link) {
  if (Take(number, NodeEvent::kLink) != NodeAction::kOpenSession) return;
  FleetNode& node = nodes_[number];
  node.lease.Linked(loop_.Now());
  node.session->Connect(link);
  if (node.lease.held(loop_.Now())) node.session->SendReliably(SignalTo(SIGCONT));  // it was lost
  leases_.CheckSoon(number);
}

void Fleet::TryRejoin(uint32_t number, Loop::Time limit) {
  if (orders_.leaving || state(number).state() == NodeState::kQuarantined) return;
  FleetNode& node = nodes_[number];
  const bool may_run = ledger_.ClearAt(number) > loop_.Now();
  if (may_run && !node.lease.held(loop_.Now())) return;
  reconnection_.Reach(number, node, limit, may_run,
                      [this, number](const launch::LaunchedNode& linked) {
                        ledger_.Ended(number, linked.status);
                        // An agent that receives no session exits by itself.
                        if (linked.status.ok() && !orders_.leaving) Add(number, linked.link);
                      });
}

uint64_t Fleet::Prepare(const std::vector<uint32_t>& nodes) {
  for (const uint32_t node : nodes) Take(node, NodeEvent::kPrepare);
  return ++generation_;
}

void Fleet::BeginAttempt(const std::vector<uint32_t>& members) {
  members_ = members;
  for (FleetNode& node : nodes_) node.member.reset();
  for (uint32_t i = 0; i < members.size(); ++i) nodes_[members[i]].member = i;
  for (uint32_t i = 0; i < size(); ++i) {
    Take(i, nodes_[i].member ? NodeEvent::kChoose : NodeEvent::kPassOver);
  }
}

void Fleet::StartRanks(const RankLedger::Clearance& clearance) {
  v1::ChiefMessage start;
  start.mutable_start()->set_generation(generation_);
  for (const uint32_t node : members_) {
    if (!nodes_[node].machine.alive()) continue;  // lost meanwhile
    Node& session = *nodes_[node].session;
    ledger_.Start(clearance, node, generation_, session.instance());
    if (!Connected(node)) EndsByLease(node);
    start.mutable_start()->set_received(session.answer());
    session.SendReliably(start);
  }
}

void Fleet::StopRanks(milliseconds grace) {
  for (const uint32_t node : members_) Take(node, NodeEvent::kStop);
  v1::ChiefMessage stop;
  stop.mutable_stop()->set_grace_ms(static_cast<uint32_t>(grace.count()));
  stop.mutable_stop()->set_generation(generation_);
  SendToAll(stop);
}

v1::ChiefMessage Fleet::SignalTo(int signal) {
  v1::ChiefMessage message;
  message.mutable_signal()->set_signal(signal);
  return message;
}

void Fleet::Suspend() {
  v1::ChiefMessage stop = SignalTo(SIGTSTP);
  stop.mutable_signal()->set_hold_ms(static_cast<uint32_t>(milliseconds(kMaxSuspension).count()));
  for (FleetNode& node : nodes_) {
    if (!node.connected()) continue;  // its lease is not held, even if it reconnects meanwhile
    node.lease.Hold(loop_.Now(), kMaxSuspension);
    node.continued_at = UINT64_MAX;
    node.session->SendReliably(stop);
  }
  leases_.RenewAll();  // the answer shows that the node has received the message
}

// An answer to a later renewal shows that a node has received this.
void Fleet::Continue() {
  SendToAll(SignalTo(SIGCONT));
  for (FleetNode& node : nodes_) node.continued_at = node.clock.asked();
  leases_.RenewAll();
}

void Fleet::GiveUp(uint32_t number, const std::string& why) {
  reconnection_.GiveUp(number);
  if (const auto link = nodes_[number].session->link()) link->Break();
  MarkLost(number, NodeEvent::kLost, Error(StatusCode::kDeadlineExceeded, why));
}

void Fleet::End(milliseconds grace, bool leave) {
  orders_.leaving = leave;
  orders_.grace = grace;
  for (const uint32_t node : reconnection_.linking()) {
    // Its agent would not be asked to exit.
    if (leave && !state(node).alive()) reconnection_.GiveUp(node);
  }
  for (uint32_t i = 0; i < size(); ++i) Take(i, leave ? NodeEvent::kDismiss : NodeEvent::kDrain);
}

void Fleet::SendEnd(FleetNode& node) {
  v1::ChiefMessage message;
  const auto grace_ms = static_cast<uint32_t>(orders_.grace.count());
  if (orders_.leaving || node.machine.evicted()) {
    message.mutable_shutdown()->set_grace_ms(grace_ms);
  } else {
    message.mutable_end()->set_grace_ms(grace_ms);
    message.mutable_end()->set_generation(generation_);
  }
  node.end_generation = generation_;
  node.session->SendReliably(std::move(message));
}

void Fleet::SendToAll(const v1::ChiefMessage& message) {
  for (FleetNode& node : nodes_) {
    if (node.machine.alive()) node.session->SendReliably(message);
  }
}

void Fleet::TakeEvent(uint32_t number, v1::AgentEvent event, int64_t arrived_ns) {
  FleetNode& node = nodes_[number];
  if (event.has_resumed()) {
    TakeAnswer(number);
  } else if (event.has_lease_renewed()) {
    node.clock.Answered(event.lease_renewed().number(), event.lease_renewed().time_ns(),
                        arrived_ns);
    const bool continued = event.lease_renewed().number() > node.continued_at;
    if (continued && node.connected() && node.session->oldest_order() == 0) node.lease.Release();
  } else if (event.has_lease_expired()) {
    const std::string& why = event.lease_expired().why();
    MarkLost(
        number, NodeEvent::kLost,
        Error(StatusCode::kDeadlineExceeded,
              why.empty() ? "its agent received nothing from here for " +
                                base::Seconds(lease_.time) + " and ended all that it had started"
                          : why));
  } else if (event.has_eviction_notice()) {
    const v1::Reach& reach = plan_.nodes(static_cast<int>(number)).reach();
    if (reach.has_callback() && !slurm::EndsAllocation(reach)) Take(number, NodeEvent::kEvict);
  } else if (event.has_ranks_ended()) {
    const uint64_t generation = event.ranks_ended().generation();
    ledger_.Ended(number, generation, node.session->instance());
    if (generation >= node.end_generation) Take(number, NodeEvent::kRanksEnded);
  } else if (event.has_warning()) {
    listener_.OnWarning(number, event.warning().what());
  } else if (event.has_sample()) {
    if (!node.member) return;
    event.mutable_sample()->set_time_ns(node.clock.ByOurs(event.sample().time_ns()));
    listener_.OnSample(number, std::move(*event.mutable_sample()));
  } else if (node.member) {
    // Ranks of a node that is not a member do not belong to the current attempt.
    TakeMemberEvent(node, std::move(event));
  }
}

void Fleet::TakeMemberEvent(FleetNode& node, v1::AgentEvent event) {
  if (event.has_rank_exited()) {
    event.mutable_rank_exited()->set_time_ns(node.clock.ByOurs(event.rank_exited().time_ns()));
  } else if (event.has_rank_aborted()) {
    event.mutable_rank_aborted()->set_time_ns(node.clock.ByOurs(event.rank_aborted().time_ns()));
  }
  listener_.OnMemberEvent(*node.member, event);
}

void Fleet::TakeClosed(uint32_t number, uint64_t connection, const Status& status) {
  FleetNode& node = nodes_[number];
  if (connection != node.session->connection() || !node.machine.alive()) return;
  if (BeingLinked(number)) return;  // closed by us
  if (status.ok()) return OnGracefulExit(number);
  if (rpc::IsBrokenRule(status)) return MarkLost(number, NodeEvent::kRefuse, status);
  const bool never_answered = node.machine.state() == NodeState::kReturned;
  if (!reconnection_.possible() || never_answered) {
    return MarkLost(number, NodeEvent::kLost, status);
  }
  if (reconnection_.IsNotAcking(node)) {
    return MarkLost(
        number, NodeEvent::kLost,
        WithRemedy(Error(StatusCode::kUnavailable,
                         "connections to its agent keep breaking before it acknowledges any "
                         "command: " +
                             Message(status)),
                   "check the network to the node, and whether other programs disturb its agent"));
  }
  if (!node.machine.disconnected()) {
    const Loop::Time now = loop_.Now();
    node.lease.Broken(node.session->last_contact());
    leases_.CheckSoon(number);
    // An agent with nothing left to report may have exited, with its last message lost; a
    // reconnection shows that.
    if (!orders_.leaving || !node.machine.drained()) {
      LogNode(
          LogLevel::kWarning, number,
          (Message(status) == kSilent ? ": its agent has not answered for " + SilenceOf(node)
                                      : ": the connection is broken: " + Message(status)) +
              (orders_.leaving
                   ? ""
                   : "; trying again for " +
                         base::Seconds(Between(now, node.lease.LostAt(loop_.resumed())))) +
              (ledger_.ClearAt(number) <= now ? "" : "; processes of the job may still run there"));
    }
  }
  Take(number, NodeEvent::kBreak, Message(status));
}

void Fleet::Reconnected(uint32_t number, const launch::LaunchedNode& linked) {
  FleetNode& node = nodes_[number];
  if (!node.machine.disconnected()) return;
  const bool over = orders_.leaving && node.machine.drained();
  if (over && ProofOfEnd::In(linked.status)) return OnGracefulExit(number);
  if (ProofOfEnd::In(linked.status)) return MarkLost(number, NodeEvent::kLost, linked.status);
  if (!linked.status.ok()) {
    return MarkLost(number, NodeEvent::kLost,
                    Annotate(linked.status, "no answer for " + SilenceOf(node)));
  }
  node.lease.Linked(loop_.Now());
  node.session->Connect(linked.link);
  leases_.CheckSoon(number);
}

// Only an answer shows that an agent is at the other end of the connection.
void Fleet::TakeAnswer(uint32_t number) {
  FleetNode& node = nodes_[number];
  if (!node.session->resumed()) return;  // answered by an earlier session
  std::string again;
  if (node.machine.disconnected()) {
    again =
        "connected again after " + base::Seconds(Between(node.lease.last_contact(), loop_.Now()));
    if (!orders_.leaving || !node.machine.drained()) LogNode(LogLevel::kInfo, number, ": " + again);
  }
  ledger_.Connected(number, node.session->instance(), loop_.Now());
  Take(number, NodeEvent::kAnswer, again);
  if (node.connected()) leases_.Renew(number);
}

// Called when the agent has ended the session, as it does after Shutdown.
void Fleet::OnGracefulExit(uint32_t number) {
  if (orders_.leaving) {
    Take(number, NodeEvent::kLeave);
  } else {
    MarkLost(number, NodeEvent::kLost,
             ProofOfEnd::OfSession(state(number).evicted()
                                       ? kubernetes::Evicted()
                                       : Error(StatusCode::kUnavailable, "its agent exited")));
  }
}

// The one time in messages about a silent node: since its last message.
std::string Fleet::SilenceOf(const FleetNode& node) const {
  return base::Seconds(Between(node.session->last_contact(), loop_.Now()));
}

// Called when the node's lease is over.
void Fleet::Expire(uint32_t number) {
  const FleetNode& node = nodes_[number];
  const std::string silence = "no answer for " + SilenceOf(node);
  if (!BeingLinked(number)) {
    return GiveUp(number,
                  silence + ", although the node is reachable; its agent may be stopped or hang");
  }
  const Status failure = reconnection_.LastFailure(number);
  const std::string why = failure.ok() ? node.machine.detail() : Message(failure);
  GiveUp(number, why == kSilent ? silence : silence + ": " + why);
}

}  // namespace autodist::chief
