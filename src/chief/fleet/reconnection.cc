#include "chief/fleet/reconnection.h"

#include <utility>

namespace autodist::chief {

using base::Deadline;
using std::chrono::milliseconds;

launch::Launcher::Done Reconnection::OnLoop(uint32_t number, Linked linked) {
  return [this, number, linked = std::move(linked)](launch::LaunchedNode node) {
    loop_.Post([this, number, linked, node = std::move(node)] {
      linking_.erase(number);
      linked(node);
    });
  };
}

void Reconnection::Resume(uint32_t number, FleetNode& node, Linked linked) {
  if (!linking_.insert(number).second) return;
  milliseconds wait{0};
  if (MadeProgress(node)) {
    node.backoff.reset();
  } else {
    if (!node.backoff) node.backoff.emplace();
    wait = node.backoff->Next();
  }
  launcher_->Resume(number, wait, Deadline::At(node.lease.LostAt(loop_.resumed())),
                    node.session->Disconnect(), OnLoop(number, std::move(linked)));
}

void Reconnection::Reach(uint32_t number, FleetNode& node, Loop::Time limit, bool same,
                         Linked linked) {
  if (!linking_.insert(number).second) return;
  const Deadline deadline = Deadline::At(limit);
  auto broken = node.session->Disconnect();
  auto done = OnLoop(number, std::move(linked));
  if (same) return launcher_->Resume(number, {}, deadline, std::move(broken), std::move(done));
  launcher_->Reach(number, deadline, std::move(broken), std::move(done));
}

// Two leases, because an order sent shortly before a break may not have arrived, neither in the
// first session nor in the next.
bool Reconnection::IsNotAcking(FleetNode& node) const {
  const uint64_t order = node.session->oldest_order();
  if (order == 0 || order != node.unacked || MadeProgress(node)) {
    node.unacked = order;
    node.unacked_since = loop_.Now();
  }
  return loop_.Now() - node.unacked_since > 2 * lease_;
}

bool Reconnection::MadeProgress(const FleetNode& node) const {
  const bool stood =
      node.session->resumed() && loop_.Now() - node.lease.linked() >= LeaseTimer::kSilenceLimit;
  return stood || node.session->made_progress();
}

}  // namespace autodist::chief
