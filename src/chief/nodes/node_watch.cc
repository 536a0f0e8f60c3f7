#include "chief/nodes/node_watch.h"

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::LogLevel;
using std::chrono::milliseconds;

// A node has the time of two and a half renewals.
milliseconds SilenceLimit(milliseconds lease, int nodes) {
  return std::max(NodeState::kSilenceLimit, 5 * launch::RenewalInterval(lease, nodes) / 2);
}

// kAborted, as its agent goes.
Status EndedByEngine() {
  return Error(StatusCode::kAborted,
               "its engine has taken it away, as when a pod is deleted or evicted");
}

milliseconds Between(Loop::Time from, Loop::Time to) {
  return std::chrono::duration_cast<milliseconds>(to - from);
}

}  // namespace

NodeWatch::NodeWatch(const v1::LaunchPlan& plan, milliseconds lease, Loop& loop,
                     OutputRouter& output, Console& console, NodeWatchListener& listener)
    : plan_(plan),
      lease_(lease),
      loop_(loop),
      output_(output),
      console_(console),
      listener_(listener),
      renewal_(launch::RenewalInterval(lease, plan.nodes_size())),
      renew_at_(loop.Now() + renewal_),
      checks_(static_cast<size_t>(plan.nodes_size())),
      quiet_(loop) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(plan.nodes_size()); ++i) {
    nodes_.emplace_back(std::make_unique<Node>(i, static_cast<NodeListener&>(*this), loop),
                        NodeState(
                            lease,
                            [this, i](v1::NodePhase phase, const std::string& why) {
                              if (phase == v1::NODE_PHASE_RECONNECTING) {
                                reconnecting_.insert(i);
                              } else {
                                reconnecting_.erase(i);
                              }
                              listener_.OnPhase(i, phase, why);
                            },
                            SilenceLimit(lease, plan.nodes_size())));
    nodes_.back().member = i;
    members_.push_back(i);
  }
  loop.BeforeWaiting([this] { return Tick(); });
}

void NodeWatch::DisconnectAtExit() {
  for (Watched& watched : nodes_) watched.node->DisconnectAtExit();
}

void NodeWatch::OnEvent(uint32_t node, v1::AgentEvent event) {
  const size_t cost = launch::EventRules::CostOf(event);
  const int64_t arrived_ns = base::NanosecondsSince1970();
  if (event.has_progress_told()) output_.Tell(node, event.progress_told());
  if (event.has_sample() || event.has_lease_renewed()) {
    quiet_.Put({node, cost, arrived_ns, std::move(event)});
    return;
  }
  loop_.Post([this, node, cost, arrived_ns, event = std::move(event)]() mutable {
    TakeQuiet();  // it came before
    TakeEvent(node, std::move(event), arrived_ns);
    nodes_[node].node->Handled(cost);
  });
}

void NodeWatch::TakeQuiet() {
  for (QuietEvents::Event& one : quiet_.Take()) {
    TakeEvent(one.node, std::move(one.event), one.arrived_ns);
    nodes_[one.node].node->Handled(one.cost);
  }
}

void NodeWatch::OnOutput(uint32_t node, v1::Output output) {
  output_.Write(node, std::move(output));
}

void NodeWatch::OnClosed(uint32_t node, uint64_t connection, Status status) {
  loop_.Post([this, node, connection, status = std::move(status)] {
    TakeClosed(node, connection, status);
  });
}

const std::string& NodeWatch::AddressOf(uint32_t node) const {
  return plan_.nodes(static_cast<int>(node)).address();
}

void NodeWatch::Tell(LogLevel level, uint32_t node, const std::string& what) {
  const size_t number = told_.Add(level, loop_.Now(), [](LogLevel, size_t) {});
  if (number > told_.kMost) return;
  const bool last = number == told_.kMost;
  console_.Tell(level, AddressOf(node) + what + (last ? "; further nodes are not listed" : ""));
}

bool NodeWatch::Connected(uint32_t node) const {
  const NodeState& state = nodes_[node].state;
  return state.alive() && !state.reconnecting();
}

bool NodeWatch::All(const std::function<bool(uint32_t node)>& holds) const {
  return all_(nodes_.size(), [&](size_t node) { return holds(static_cast<uint32_t>(node)); });
}

bool NodeWatch::AllResumed() const {
  return All([this](uint32_t node) {
    return !nodes_[node].state.alive() || nodes_[node].node->resumed();
  });
}

bool NodeWatch::AnyGoing() const {
  return !All(
      [this](uint32_t node) { return !nodes_[node].state.alive() || !nodes_[node].taken_away; });
}

uint32_t NodeWatch::connected() const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < size(); ++i) count += Stays(i) ? 1 : 0;
  return count;
}

void NodeWatch::Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link) {
  nodes_[node].taken_away = false;
  nodes_[node].state.Linked(loop_.Now());
  nodes_[node].node->Connect(link);
  nodes_[node].state.Ready();
  CheckSoon(node);
}

void NodeWatch::BringBack(uint32_t node, Loop::Time limit) {
  nodes_[node].attempt_over = false;  // it may still have ranks of an earlier attempt
  nodes_[node].told_to_end = false;
  // One that has broken a rule is not asked again.
  if (!nodes_[node].node->broken_rule().ok() || !linking_.insert(node).second) return;
  launcher_->Reach(node, Deadline::At(limit), [this, node](launch::LaunchedNode linked) {
    loop_.Post([this, node, linked = std::move(linked)] {
      linking_.erase(node);
      // An agent that is left without a session goes by itself.
      if (linked.status.ok() && bring_back_) Add(node, linked.link);
    });
  });
}

void NodeWatch::BringBackNoMore() {
  bring_back_ = false;
  for (const uint32_t node : linking_) {
    if (!nodes_[node].state.alive()) launcher_->GiveUp(node);
  }
}

void NodeWatch::Prepare(const std::vector<uint32_t>& nodes) {
  for (const uint32_t node : nodes) {
    nodes_[node].attempt_over = false;
    nodes_[node].told_to_end = false;
    nodes_[node].node->BeginAttempt();
    nodes_[node].state.Ready();
  }
}

void NodeWatch::BeginAttempt(const std::vector<uint32_t>& members) {
  members_ = members;
  for (Watched& watched : nodes_) {
    watched.member.reset();
    watched.cut_off = false;
  }
  for (uint32_t i = 0; i < members.size(); ++i) {
    Watched& watched = nodes_[members[i]];
    watched.member = i;
    watched.state.Running();
  }
}

void NodeWatch::StartRanks() {
  v1::ChiefMessage start;
  start.mutable_start();
  for (const uint32_t node : members_) nodes_[node].node->SendReliably(start);
}

void NodeWatch::StopRanks(milliseconds grace) {
  for (const uint32_t node : members_) nodes_[node].state.Stopping();
  v1::ChiefMessage stop;
  stop.mutable_stop()->set_grace_ms(static_cast<uint32_t>(grace.count()));
  SendToAll(stop);
}

void NodeWatch::End(milliseconds grace, bool leave) {
  leaving_ = leave;
  end_grace_ = grace;
  for (Watched& watched : nodes_) {
    watched.state.Stopping();
    if (!watched.state.alive()) continue;
    // Not once more: that, or its answer, may come after the next Prepare.
    if (!std::exchange(watched.told_to_end, true) || leave) SendEnd(watched);
  }
}

void NodeWatch::SendEnd(Watched& watched) {
  v1::ChiefMessage message;
  const auto grace_ms = static_cast<uint32_t>(end_grace_.count());
  if (leaving_ || watched.taken_away) {
    message.mutable_shutdown()->set_grace_ms(grace_ms);
  } else {
    message.mutable_end()->set_grace_ms(grace_ms);
  }
  watched.node->SendReliably(std::move(message));
}

void NodeWatch::SendToAll(const v1::ChiefMessage& message) {
  for (Watched& watched : nodes_) {
    if (watched.state.alive()) watched.node->SendReliably(message);
  }
}

void NodeWatch::TakeEvent(uint32_t node, v1::AgentEvent event, int64_t arrived_ns) {
  Watched& watched = nodes_[node];
  if (event.has_resumed()) {
    TakeResumed(node);
  } else if (event.has_lease_renewed()) {
    watched.clock.Answered(event.lease_renewed().number(), event.lease_renewed().time_ns(),
                           arrived_ns);
  } else if (event.has_lease_expired()) {
    const std::string& why = event.lease_expired().why();
    Lose(node, Error(StatusCode::kDeadlineExceeded,
                     why.empty() ? "its agent heard nothing from here for " +
                                       base::Seconds(lease_) + " and ended its ranks"
                                 : why));
  } else if (event.has_engine_ends()) {
    EngineEnds(node);
  } else if (event.has_ranks_ended()) {
    watched.attempt_over = true;
  } else if (event.has_warning()) {
    listener_.OnWarning(node, event.warning().what());
  } else if (event.has_sample()) {
    if (!watched.member) return;
    event.mutable_sample()->set_time_ns(watched.clock.ByOurs(event.sample().time_ns()));
    listener_.OnSample(node, std::move(*event.mutable_sample()));
  } else if (watched.member) {
    // An attempt that went on without this node has nothing to do with its ranks.
    if (event.has_rank_exited()) {
      event.mutable_rank_exited()->set_time_ns(watched.clock.ByOurs(event.rank_exited().time_ns()));
    } else if (event.has_rank_aborted()) {
      event.mutable_rank_aborted()->set_time_ns(
          watched.clock.ByOurs(event.rank_aborted().time_ns()));
    }
    listener_.OnMemberEvent(*watched.member, event);
  }
}

void NodeWatch::Renew(uint32_t node) {
  Watched& watched = nodes_[node];
  watched.state.Asked(loop_.Now(), watched.node->heard());
  checks_.SetEarlier(node, watched.state.SilentAt(watched.node->heard()));
  v1::ChiefMessage renew;
  renew.mutable_renew_lease()->set_number(watched.clock.Ask(base::NanosecondsSince1970()));
  watched.node->SendIfConnected(std::move(renew));
}

void NodeWatch::TakeClosed(uint32_t node, uint64_t connection, const Status& status) {
  Watched& watched = nodes_[node];
  if (connection != watched.node->connection() || !watched.state.alive()) return;
  if (linking_.contains(node)) return;  // it is we who have ended it
  if (status.ok()) return Left(node);
  if (!launcher_ || launch::IsBrokenRule(status)) return Lose(node, status);
  const Loop::Time now = loop_.Now();
  if (HeedsNothing(watched)) {
    return Lose(node, WithRemedy(Error(StatusCode::kUnavailable,
                                       "each connection to its agent breaks before it has taken "
                                       "what it is told: " +
                                           Message(status)),
                                 "is the network to it sound, and its agent left alone?"));
  }
  if (!watched.state.reconnecting()) {
    watched.state.Broken(Message(status), watched.node->heard(), now);
    CheckSoon(node);
    // An agent that has told all that it had to may have gone, and its last word been lost. Who
    // asks again finds out.
    if (!leaving_ || !watched.attempt_over) {
      Tell(LogLevel::kWarning, node,
           ": the connection is broken: " + Message(status) + "; trying again for " +
               base::Seconds(Between(now, watched.state.lost_at())) +
               ", while the ranks there go on");
    }
  }
  ConnectAgain(node);
}

// Of one whose connection has broken. What was sent shortly before may not have arrived, nor
// shortly before the next break: hence two leases.
bool NodeWatch::HeedsNothing(Watched& watched) const {
  const uint64_t order = watched.node->oldest_order();
  if (order == 0 || order != watched.unheeded || WasOfUse(watched)) {
    watched.unheeded = order;
    watched.unheeded_since = loop_.Now();
  }
  return loop_.Now() - watched.unheeded_since > 2 * lease_;
}

bool NodeWatch::WasOfUse(const Watched& watched) const {
  const bool stood =
      watched.node->resumed() && loop_.Now() - watched.state.linked() >= NodeState::kSilenceLimit;
  return stood || watched.node->brought_news();
}

// At once where the connection that broke was of any use; else later each time.
void NodeWatch::ConnectAgain(uint32_t node) {
  if (!linking_.insert(node).second) return;
  Watched& watched = nodes_[node];
  milliseconds wait{0};
  if (WasOfUse(watched)) {
    watched.backoff.reset();
  } else {
    if (!watched.backoff) watched.backoff.emplace();
    wait = watched.backoff->Next();
  }
  launcher_->Resume(
      node, wait, Deadline::At(watched.state.lost_at()), watched.node->Disconnect(),
      [this, node](launch::LaunchedNode linked) {
        loop_.Post([this, node, linked = std::move(linked)] { Linked(node, linked); });
      });
}

void NodeWatch::Linked(uint32_t node, const launch::LaunchedNode& linked) {
  linking_.erase(node);
  Watched& watched = nodes_[node];
  if (!watched.state.reconnecting()) return;
  const bool over = leaving_ && watched.attempt_over;
  if (over && linked.status.code() == StatusCode::kAborted) return Left(node);
  if (!linked.status.ok()) return Lose(node, linked.status);
  watched.state.Linked(loop_.Now());
  watched.node->Connect(linked.link);
  CheckSoon(node);
}

// Only now is it known that there is an agent at the end of the connection.
void NodeWatch::TakeResumed(uint32_t node) {
  Watched& watched = nodes_[node];
  if (!watched.node->resumed()) return;  // by one that has ended since
  if (watched.state.reconnecting()) {
    watched.state.Back(loop_.Now());
    if (!leaving_ || !watched.attempt_over) {
      Tell(LogLevel::kInfo, node, ": " + watched.state.detail());
    }
  }
  Renew(node);
}

// The agent has ended the session, as it does after Shutdown.
void NodeWatch::Left(uint32_t node) {
  if (leaving_) {
    nodes_[node].state.Ended();
  } else if (nodes_[node].taken_away) {
    Lose(node, EndedByEngine());
  } else {
    Lose(node, Error(StatusCode::kUnavailable, "its agent left"));
  }
}

// Of an allocation's steps Slurm ends all, and us as well.
void NodeWatch::EngineEnds(uint32_t node) {
  const v1::Reach& reach = plan_.nodes(static_cast<int>(node)).reach();
  if (!reach.has_called() || reach.called().has_step()) return;
  nodes_[node].taken_away = true;
  // What is told to end there is followed by nothing.
  if (nodes_[node].told_to_end && !leaving_) SendEnd(nodes_[node]);
  listener_.OnTakenAway(node, nodes_[node].member, EndedByEngine());
}

void NodeWatch::Lose(uint32_t node, const Status& why) {
  Watched& watched = nodes_[node];
  if (!watched.state.alive()) return;
  watched.state.Lost(Message(why));
  watched.node->DropUnacknowledged();
  watched.lost_because = why;
  watched.cut_off = why.code() != StatusCode::kAborted;
  listener_.OnLost(node, watched.member, why);
  watched.attempt_over = true;
}

void NodeWatch::RenewAll() {
  for (uint32_t i = 0; i < size(); ++i) {
    if (Connected(i)) Renew(i);
  }
}

bool NodeWatch::AllRenewed() const {
  return All([this](uint32_t node) { return !Connected(node) || nodes_[node].clock.answered(); });
}

Loop::Time NodeWatch::Tick() {
  TakeQuiet();
  const Loop::Time now = loop_.Now();
  if (now >= renew_at_) {
    if (now - renew_at_ > NodeState::kSilenceLimit / 2) Forgive();  // it is we who did not run
    renew_at_ = now + renewal_;
    RenewAll();
  }
  while (const auto node = checks_.TakeDue(now)) checks_.SetEarlier(*node, Check(*node));
  return std::min({renew_at_, checks_.next(), quiet_.due()});
}

// Returns when to check again, as long as nothing happens.
Loop::Time NodeWatch::Check(uint32_t node) {
  Watched& watched = nodes_[node];
  if (!watched.state.alive()) return Loop::Time::max();
  const Loop::Time now = loop_.Now();
  const bool reconnecting = watched.state.reconnecting();
  if (reconnecting && now >= watched.state.lost_at()) {
    LoseUnheard(node);
    return Loop::Time::max();
  }
  const Loop::Time lost = reconnecting ? watched.state.lost_at() : Loop::Time::max();
  if (linking_.contains(node) && reconnecting) return lost;
  const Loop::Time silent = watched.state.SilentAt(watched.node->heard());
  if (now < silent) return std::min(silent, lost);
  TakeClosed(node, watched.node->connection(),
             Error(StatusCode::kUnavailable,
                   "nothing heard for " + base::Seconds(Between(watched.node->heard(), now))));
  return watched.state.reconnecting() ? watched.state.lost_at() : Loop::Time::max();
}

// Its lease is over.
void NodeWatch::LoseUnheard(uint32_t node) {
  Watched& watched = nodes_[node];
  const std::string time = base::Seconds(Between(watched.node->heard(), loop_.Now()));
  const bool linked = !linking_.contains(node);
  launcher_->GiveUp(node);
  if (const auto link = watched.node->link()) link->Break();
  Lose(node, linked ? Error(StatusCode::kDeadlineExceeded,
                            "no answer from its agent for " + time +
                                ", although the node can be reached: it may have been stopped, or "
                                "hang")
                    : Error(StatusCode::kDeadlineExceeded,
                            "no connection for " + time + ": " + watched.state.detail()));
}

void NodeWatch::Forgive() {
  for (Watched& watched : nodes_) watched.state.Forgive(loop_.Now());
}

}  // namespace autodist::chief
