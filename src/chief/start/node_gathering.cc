#include "chief/start/node_gathering.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/quantity.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

// The time for a restart to wait for nodes that it can do without.
constexpr milliseconds kOptionalNodeLimit{3'000};
// The time for a node to report that the processes have ended, after the grace period.
constexpr milliseconds kReportLimit{3'000};
constexpr milliseconds kReachAgainInterval{1'000};
// A shorter wait is not reported.
constexpr milliseconds kShortWait{2'000};

}  // namespace

void NodeGathering::Begin() {
  const Loop::Time now = job_.loop.Now();
  job_.nodes.End(job_.options.launch.grace(), false);
  ending_ = reported_ = false;
  evicted_by_ = now + job_.options.launch.grace() + kReportLimit;
  optional_until_ = needed_until_ = reach_at_ = {};
  due_ = now;
}

void NodeGathering::WakeBy(Loop::Time time) { due_ = std::min(due_, time); }

bool NodeGathering::Advance() {
  due_ = Loop::Time::max();
  if (job_.stop.requested()) return true;
  if (!AllEnded()) {
    GiveUpOverdue();
    // Most events are of nodes that end; while others do, nothing has to be counted.
    if (job_.nodes.ledger().ClearAt() == Loop::Time::max()) return false;
  }
  const Choice idle = roster_.Choose(Availability::kIdle);
  const bool waits = idle.empty > 0 && (AwaitsEvictions() || AwaitsNodes(idle));
  if (waits || AwaitsRanks()) return false;
  due_ = Loop::Time::max();
  return true;
}

// Returns whether each connected node is idle, or about to be taken away.
bool NodeGathering::AllEnded() {
  const bool ended = all_ended_(job_.nodes.size(), [this](size_t i) {
    const auto node = static_cast<uint32_t>(i);
    return !job_.nodes.Connected(node) || job_.nodes.state(node).drained() ||
           roster_.Of(node) == Availability::kIdle;
  });
  if (!ended && !std::exchange(ending_, true)) {
    end_by_ = job_.loop.Now() + job_.options.launch.grace() + kReportLimit;
  }
  ending_ = !ended;
  return ended;
}

void NodeGathering::GiveUpOverdue() {
  if (job_.loop.Now() < end_by_) return WakeBy(end_by_);
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (!job_.nodes.Connected(node) || job_.nodes.state(node).drained()) continue;
    if (roster_.Of(node) == Availability::kIdle) continue;
    job_.nodes.GiveUp(node, "its processes have not ended, not by SIGKILL either");
  }
}

// Nodes that are being evicted stop their ranks; another pod may then connect in their place.
bool NodeGathering::AwaitsEvictions() {
  if (!job_.nodes.AnyEvicted() || job_.loop.Now() >= evicted_by_) return false;
  WakeBy(evicted_by_);
  return true;
}

bool NodeGathering::AwaitsNodes(const Choice& idle) {
  const Loop::Time now = job_.loop.Now();
  if (needed_until_ == Loop::Time{}) {
    optional_until_ = now + kOptionalNodeLimit;
    needed_until_ = now + ReturnLimit();
  }
  const Loop::Time until = idle.suffices ? optional_until_ : needed_until_;
  const bool ends = ending_ && roster_.Choose(Availability::kConnected).empty < idle.empty;
  if (ends) return true;  // at the latest at end_by_
  if (now >= until || Missing(idle.suffices).empty()) return false;
  ReachMissing();
  WakeBy(until);
  return true;
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
  if (clear != Loop::Time::max()) WakeBy(clear);
  ReachMissing();
  return true;
}

void NodeGathering::ReachMissing() {
  const Loop::Time now = job_.loop.Now();
  if (now < reach_at_) return WakeBy(reach_at_);
  reach_at_ = now + kReachAgainInterval;
  const Loop::Time limit = std::max(needed_until_, reach_at_);
  for (const uint32_t node : Missing(false)) {
    // A live node is being reconnected already.
    if (!job_.nodes.state(node).alive()) job_.nodes.TryRejoin(node, limit);
  }
  WakeBy(reach_at_);
}

// A lease, or longer if a scheduler may have to create a node that connects back.
milliseconds NodeGathering::ReturnLimit() {
  milliseconds limit = job_.options.launch.lease();
  std::string called;
  for (const uint32_t i : Missing(false)) {
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
    if (!(enough && job_.nodes.WasCutOff(i))) missing.push_back(i);
  }
  return missing;
}

}  // namespace autodist::chief
