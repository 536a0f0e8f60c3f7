#include "chief/nodes/node_watch.h"

#include <algorithm>
#include <cstdlib>

#include "base/seconds.h"
#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

using base::Deadline;
using base::LogLevel;
using std::chrono::milliseconds;
using Clock = Deadline::Clock;

constexpr int kRenewalsPerLease = 4;
constexpr milliseconds kLongestRenewal{4'000};

milliseconds RenewalInterval(milliseconds lease) {
  return std::min(lease / kRenewalsPerLease, kLongestRenewal);
}

milliseconds Since(Clock::time_point time) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - time);
}

}  // namespace

NodeWatch::NodeWatch(const v1::LaunchPlan& plan, milliseconds lease, Post post, Handlers handlers)
    : plan_(plan),
      lease_(lease),
      post_(std::move(post)),
      handlers_(std::move(handlers)),
      renew_at_(Deadline::After(RenewalInterval(lease))) {
  for (uint32_t i = 0; i < static_cast<uint32_t>(plan.nodes_size()); ++i) {
    Node::Handlers of_node;
    of_node.event = [this, i](v1::AgentEvent event) {
      post_([this, i, event = std::move(event)] { TakeEvent(i, event); });
    };
    of_node.output = [this, i](v1::Output output) { handlers_.output(i, std::move(output)); };
    of_node.closed = [this, i](uint64_t connection, Status status) {
      post_([this, i, connection, status = std::move(status)] { Closed(i, connection, status); });
    };
    nodes_.emplace_back(std::move(of_node),
                        NodeState(lease, [this, i](v1::NodePhase phase, const std::string& why) {
                          handlers_.changed(i, phase, why);
                        }));
  }
}

const std::string& NodeWatch::AddressOf(uint32_t node) const {
  return plan_.nodes(static_cast<int>(node)).address();
}

bool NodeWatch::Connected(uint32_t node) const {
  const NodeState& state = nodes_[node].state;
  return state.alive() && !state.reconnecting();
}

bool NodeWatch::AllResumed() const {
  return std::ranges::all_of(nodes_, [](const Watched& watched) {
    return !watched.state.alive() || watched.node->resumed();
  });
}

void NodeWatch::Add(uint32_t node, const std::shared_ptr<launch::NodeLink>& link) {
  nodes_[node].node->Connect(link);
  nodes_[node].state.Ready();
}

void NodeWatch::BringBack(uint32_t node, Deadline deadline) {
  if (!linking_.insert(node).second) return;
  launcher_->Reach(node, deadline, [this, node](launch::LaunchedNode linked) {
    post_([this, node, linked = std::make_shared<launch::LaunchedNode>(std::move(linked))] {
      linking_.erase(node);
      // An agent that is left without a session goes by itself.
      if (linked->status.ok() && bring_back_) Add(node, linked->link);
    });
  });
}

void NodeWatch::BringBackNoMore() {
  bring_back_ = false;
  for (const uint32_t node : linking_) {
    if (!nodes_[node].state.alive()) launcher_->GiveUp(node);
  }
}

void NodeWatch::OrderAll(const v1::ChiefMessage& message) {
  for (Watched& watched : nodes_) {
    if (watched.state.alive()) watched.node->Order(message);
  }
}

void NodeWatch::TakeEvent(uint32_t node, const v1::AgentEvent& event) {
  Watched& watched = nodes_[node];
  if (event.has_resumed()) {
    Renew(watched);
  } else if (event.has_lease_renewed()) {
    TakeRenewed(watched, event.lease_renewed());
  } else if (event.has_lease_expired()) {
    const std::string& why = event.lease_expired().why();
    Lose(node, Error(StatusCode::kDeadlineExceeded,
                     why.empty() ? "its agent heard nothing from here for " +
                                       base::Seconds(lease_) + " and ended its ranks"
                                 : why));
  } else {
    handlers_.event(node, event);
  }
}

void NodeWatch::TakeRenewed(Watched& watched, const v1::LeaseRenewed& renewed) {
  watched.renewed = std::max(watched.renewed, renewed.number());
  if (renewed.number() != watched.renewal) return;
  const int64_t now = base::NanosecondsSince1970();
  const int64_t round_trip = now - watched.renewal_sent_ns;
  if (round_trip < 0 || round_trip > watched.best_round_trip_ns) return;
  watched.best_round_trip_ns = round_trip;
  watched.clock_ahead_ns = renewed.time_ns() - (watched.renewal_sent_ns + round_trip / 2);
}

int64_t NodeWatch::ByOurClock(uint32_t node, int64_t time_ns) const {
  const Watched& watched = nodes_[node];
  // Clocks that agree as far as can be known are taken to be the same: they order events better.
  const bool agree = std::abs(watched.clock_ahead_ns) <= watched.best_round_trip_ns / 2;
  return agree ? time_ns : time_ns - watched.clock_ahead_ns;
}

void NodeWatch::Renew(Watched& watched) {
  watched.state.Asked(Clock::now(), watched.node->heard());
  watched.renewal_sent_ns = base::NanosecondsSince1970();
  v1::ChiefMessage renew;
  renew.mutable_renew_lease()->set_number(++watched.renewal);
  watched.node->Tell(std::move(renew));
}

void NodeWatch::Closed(uint32_t node, uint64_t connection, const Status& status) {
  Watched& watched = nodes_[node];
  if (connection != watched.node->connection() || !watched.state.alive()) return;
  if (watched.state.reconnecting()) return;
  if (status.ok()) {
    watched.state.Ended();
    handlers_.ended(node);
    return;
  }
  if (!launcher_) {
    Lose(node, status);
    return;
  }
  const auto broken = Clock::now();
  watched.state.Broken(Message(status), watched.node->heard());
  const auto left = std::chrono::duration_cast<milliseconds>(watched.state.lost_at() - broken);
  handlers_.tell(LogLevel::kWarning,
                 AddressOf(node) + ": the connection is broken: " + Message(status) +
                     "; trying again for " + base::Seconds(left) + ", while the ranks there go on");
  if (!linking_.insert(node).second) return;
  launcher_->Resume(node, Deadline::At(watched.state.lost_at()), watched.node->Disconnect(),
                    [this, node, broken](launch::LaunchedNode linked) {
                      post_([this, node, broken,
                             shared = std::make_shared<launch::LaunchedNode>(std::move(linked))] {
                        Linked(node, *shared, broken);
                      });
                    });
}

void NodeWatch::Linked(uint32_t node, const launch::LaunchedNode& linked, NodeState::Time broken) {
  linking_.erase(node);
  Watched& watched = nodes_[node];
  if (!watched.state.reconnecting()) return;
  if (watched.may_be_gone && linked.status.code() == StatusCode::kAborted) {
    watched.state.Ended();
    handlers_.ended(node);
    return;
  }
  if (!linked.status.ok()) {
    Lose(node, linked.status);
    return;
  }
  watched.node->Connect(linked.link);
  watched.state.Back(Since(broken));
  handlers_.tell(LogLevel::kInfo, AddressOf(node) + ": " + watched.state.detail());
}

void NodeWatch::Lose(uint32_t node, const Status& why) {
  if (!nodes_[node].state.alive()) return;
  nodes_[node].state.Lost(Message(why));
  nodes_[node].node->DropOrders();
  handlers_.lost(node, why);
}

void NodeWatch::RenewAll() {
  for (uint32_t i = 0; i < size(); ++i) {
    if (Connected(i)) Renew(nodes_[i]);
  }
}

bool NodeWatch::AllRenewed() const {
  for (uint32_t i = 0; i < size(); ++i) {
    if (Connected(i) && nodes_[i].renewed < nodes_[i].renewal) return false;
  }
  return true;
}

Deadline NodeWatch::Tick() {
  if (renew_at_.Expired()) {
    const auto late = Since(renew_at_.when());
    if (late > NodeState::kSilenceLimit / 2) Forgive();  // it is we who did not run
    renew_at_ = Deadline::After(RenewalInterval(lease_));
    RenewAll();
  }
  Deadline next = renew_at_;
  for (uint32_t i = 0; i < size(); ++i) {
    Watched& watched = nodes_[i];
    if (watched.state.reconnecting()) {
      const Deadline lost = Deadline::At(watched.state.lost_at());
      if (lost.Expired()) {
        launcher_->GiveUp(i);
        Lose(i, Error(StatusCode::kDeadlineExceeded,
                      "no connection for " + base::Seconds(Since(watched.node->heard())) + ": " +
                          watched.state.detail()));
      }
      next = std::min(next, lost);
    } else if (watched.state.alive()) {
      const Deadline silent = Deadline::At(watched.state.SilentAt(watched.node->heard()));
      if (silent.Expired()) {
        Closed(i, watched.node->connection(),
               Error(StatusCode::kUnavailable,
                     "nothing heard for " + base::Seconds(Since(watched.node->heard()))));
      }
      next = std::min(next, silent);
    }
  }
  return next;
}

void NodeWatch::Forgive() {
  for (Watched& watched : nodes_) watched.state.Forgive(Clock::now());
}

}  // namespace autodist::chief
