#include "chief/fleet/lease_monitor.h"

#include <algorithm>
#include <utility>

#include "base/wall_clock.h"

namespace autodist::chief {

using std::chrono::milliseconds;

LeaseMonitor::LeaseMonitor(milliseconds renewal, size_t count, Loop& loop,
                           std::vector<FleetNode>& nodes, const RankLedger& ledger, Events events)
    : renewal_(renewal),
      loop_(loop),
      nodes_(nodes),
      ledger_(ledger),
      events_(std::move(events)),
      renew_at_(loop.Now() + renewal_),
      deadlines_(count) {}

void LeaseMonitor::Renew(uint32_t number) {
  FleetNode& node = nodes_[number];
  node.lease.Asked(loop_.Now(), node.session->last_contact());
  deadlines_.SetEarlier(number, node.lease.SilentAt(node.session->last_contact(), loop_.resumed()));
  v1::ChiefMessage renew;
  renew.mutable_renew_lease()->set_number(node.clock.Ask(base::NanosecondsSince1970()));
  if (!ledger_.Overdue(number, node.session->instance())) {
    renew.mutable_renew_lease()->set_received(node.session->answer());
  }
  node.session->SendIfConnected(std::move(renew));
}

void LeaseMonitor::RenewAll() {
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].connected()) Renew(i);
  }
}

bool LeaseMonitor::AllRenewed() const {
  return all_(nodes_.size(), [this](size_t node) {
    return !nodes_[node].connected() || nodes_[node].clock.answered();
  });
}

Loop::Time LeaseMonitor::Tick() {
  const Loop::Time now = loop_.Now();
  if (now >= renew_at_) {
    renew_at_ = now + renewal_;
    RenewAll();
  }
  while (const auto node = deadlines_.TakeDue(now)) deadlines_.SetEarlier(*node, Check(*node));
  return std::min(renew_at_, deadlines_.next());
}

// Returns when to check again if nothing happens.
Loop::Time LeaseMonitor::Check(uint32_t number) {
  const FleetNode& node = nodes_[number];
  if (!node.machine.alive()) return Loop::Time::max();
  const Loop::Time now = loop_.Now();
  const bool disconnected = node.machine.disconnected();
  const Loop::Time lost = disconnected ? node.lease.LostAt(loop_.resumed()) : Loop::Time::max();
  if (now >= lost) {
    events_.expired(number);
    return Loop::Time::max();
  }
  if (disconnected && events_.being_linked(number)) return lost;
  const Loop::Time silent = node.lease.SilentAt(node.session->last_contact(), loop_.resumed());
  if (now < silent) return std::min(silent, lost);
  events_.silent(number);
  return node.machine.disconnected() ? node.lease.LostAt(loop_.resumed()) : Loop::Time::max();
}

}  // namespace autodist::chief
