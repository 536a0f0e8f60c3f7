#include "chief/start/node_gathering.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/proof_of_end.h"
#include "base/quantity.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// The time for a restart to wait for nodes that it can do without.
constexpr milliseconds kOptionalNodeLimit{3'000};
// The time for a node to report that the processes have ended, after the grace period.
constexpr milliseconds kReportLimit{3'000};
constexpr milliseconds kReachAgainInterval{1'000};
constexpr milliseconds kCountInterval{50};
// A shorter wait is not reported.
constexpr milliseconds kShortWait{2'000};

}  // namespace

NodeGathering::NodeGathering(const StartingJob& job, const Roster& roster)
    : job_(job), roster_(roster), end_limit_(job.options.launch.grace() + kReportLimit) {}

void NodeGathering::Begin(bool again) {
  job_.nodes.End(job_.options.launch.grace(), false);
  ending_ = reported_ = false;
  again_ = again;
  missing_.clear();
  count_at_ = awaits_since_ = reach_at_ = {};
  due_ = began_ = job_.loop.Now();
}

void NodeGathering::WakeBy(Loop::Time time) { due_ = std::min(due_, time); }

bool NodeGathering::Advance() {
  due_ = Loop::Time::max();
  if (job_.stop.requested()) return true;
  if (!AllEnded()) {
    GiveUpOverdue();
    // Most events are of nodes that end. While others do, all nodes are counted only now and then.
    if (job_.loop.Now() < count_at_) {
      WakeBy(count_at_);
      return false;
    }
    count_at_ = job_.loop.Now() + kCountInterval;
  }
  NoteMissing();
  if (job_.nodes.ledger().ClearAt() == Loop::Time::max()) return false;
  const Choice idle = roster_.Choose(Availability::kIdle);
  const bool waits = idle.empty > 0 && (AwaitsEvictions() || AwaitsNodes(idle));
  if (waits || AwaitsRanks()) return false;
  due_ = Loop::Time::max();
  return true;
}

// Returns whether nothing is left on each connected node.
bool NodeGathering::AllEnded() {
  const bool ended = all_ended_(job_.nodes.size(), [this](size_t i) {
    const auto node = static_cast<uint32_t>(i);
    return !job_.nodes.Connected(node) || job_.nodes.state(node).drained();
  });
  if (std::exchange(ending_, !ended) == ended) ending_since_ = job_.loop.Now();
  return ended;
}

void NodeGathering::GiveUpOverdue() {
  const Loop::Time limit = Since(ending_since_) + end_limit_;
  if (job_.loop.Now() < limit) return WakeBy(limit);
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (!job_.nodes.Connected(node) || job_.nodes.state(node).drained()) continue;
    job_.nodes.GiveUp(node, "its processes have not ended, not by SIGKILL either");
  }
}

// Nodes that are being evicted stop their ranks; another pod may then connect in their place.
bool NodeGathering::AwaitsEvictions() {
  const Loop::Time limit = Since(began_) + end_limit_;
  if (!job_.nodes.AnyEvicted() || job_.loop.Now() >= limit) return false;
  WakeBy(limit);
  return true;
}

bool NodeGathering::AwaitsNodes(const Choice& idle) {
  const Loop::Time now = job_.loop.Now();
  if (awaits_since_ == Loop::Time{}) awaits_since_ = now;
  const milliseconds optional = again_ ? milliseconds(0) : kOptionalNodeLimit;
  const Loop::Time until = idle.suffices ? Since(awaits_since_) + optional : NeededUntil();
  const bool ends = ending_ && roster_.Choose(Availability::kConnected).empty < idle.empty;
  if (ends) return true;  // at the latest when they are given up
  if (now >= until || Missing(idle.suffices).empty()) return false;
  ReachMissing();
  WakeBy(until);
  return true;
}

// Each missing node has the whole time to return, from its loss and from when no ranks may run.
void NodeGathering::NoteMissing() {
  std::vector<uint32_t> missing = Missing(false);
  const bool more = !std::ranges::includes(missing_, missing);
  missing_ = std::move(missing);
  if (more) return_limit_ = ReturnLimit();
  const Loop::Time now = job_.loop.Now();
  if (more || job_.nodes.ledger().ClearAt() > now) missing_since_ = now;
}

Loop::Time NodeGathering::NeededUntil() const {
  return std::max(Since(missing_since_), job_.nodes.ledger().ClearAt()) + return_limit_;
}

// Never two of a rank, even if a node has only lost its connection.
bool NodeGathering::AwaitsRanks() {
  const Loop::Time now = job_.loop.Now();
  const RankLedger& ledger = job_.nodes.ledger();
  const Loop::Time clear = ledger.ClearAt();
  if (clear <= now) return false;
  if (!ending_ && !std::exchange(reported_, true) && clear - now > kShortWait) {
    job_.console.Log(
        base::LogLevel::kInfo,
        "waiting for " + base::Elapsed(std::chrono::ceil<std::chrono::seconds>(clear - now)) +
            " at most: ranks may still run on " +
            job_.plan.nodes(static_cast<int>(ledger.last())).address() + ", which does not answer");
  }
  WakeBy(clear);
  ReachMissing();
  return true;
}

void NodeGathering::ReachMissing() {
  const Loop::Time now = job_.loop.Now();
  if (now < reach_at_) return WakeBy(reach_at_);
  reach_at_ = now + kReachAgainInterval;
  const Loop::Time limit = std::max(NeededUntil(), reach_at_);
  for (const uint32_t node : missing_) {
    // A live node is being reconnected already.
    if (!job_.nodes.state(node).alive()) job_.nodes.TryRejoin(node, limit);
  }
  WakeBy(reach_at_);
}

// A lease, or longer if a scheduler may have to create a node that connects back.
milliseconds NodeGathering::ReturnLimit() {
  milliseconds limit = job_.options.launch.lease();
  std::string called;
  for (const uint32_t i : missing_) {
    const v1::NodePlan& node = job_.plan.nodes(static_cast<int>(i));
    if (!node.reach().has_callback()) continue;
    limit = std::max(limit, milliseconds(node.reach().callback().limit_ms()));
    called += (called.empty() ? "" : ", ") + node.address();
  }
  if (limit > job_.options.launch.lease()) {
    job_.console.Log(base::LogLevel::kInfo, "waiting for " + called + " to connect again, for " +
                                                base::Elapsed(limit) + " at most");
  }
  return limit;
}

// Nodes that may return. `enough`: without those that were just tried in vain.
std::vector<uint32_t> NodeGathering::Missing(bool enough) const {
  std::vector<uint32_t> missing;
  for (uint32_t i = 0; i < job_.nodes.size(); ++i) {
    if (roster_.Of(i) != Availability::kReturning) continue;
    const bool cut_off = job_.nodes.state(i).state() == NodeState::kLost &&
                         !ProofOfEnd::In(job_.nodes.lost_because(i));
    if (!(enough && cut_off)) missing.push_back(i);
  }
  return missing;
}

}  // namespace autodist::chief
