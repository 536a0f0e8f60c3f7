#include "chief/start/node_gathering.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/a_few_of.h"
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
constexpr milliseconds kShortDelay{2'000};

}  // namespace

NodeGathering::NodeGathering(const StartingJob& job, const Roster& roster)
    : job_(job), roster_(roster), end_limit_(job.options.launch.grace() + kReportLimit) {}

void NodeGathering::Begin(bool again) {
  job_.nodes.End(job_.options.launch.grace(), false);
  ending_ = reported_ = reported_missing_ = reported_ending_ = false;
  again_ = again;
  missing_.clear();
  if (!again) were_lost_.clear();
  count_at_ = awaits_since_ = reach_at_ = {};
  due_ = began_ = job_.loop.Now();
}

bool NodeGathering::WouldWait(Loop::Time begin) const {
  return job_.nodes.ledger().ClearAt() > begin + kShortDelay ||
         roster_.Choose(Availability::kReturning).empty < roster_.Choose(Availability::kIdle).empty;
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
  if (waits || AwaitsPlaces(idle) || AwaitsRanks()) return false;
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

// Says once which nodes have not ended what ran there.
void NodeGathering::ReportEnding(Loop::Time limit) {
  const Loop::Time report_at = ending_since_ + kShortDelay;
  if (job_.loop.Now() < report_at) return WakeBy(report_at);
  if (job_.loop.Now() >= limit || std::exchange(reported_ending_, true)) return;
  std::vector<std::string> late;
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (!job_.nodes.Connected(node) || job_.nodes.state(node).drained()) continue;
    late.push_back(job_.plan.nodes(static_cast<int>(node)).address());
  }
  const auto left = std::chrono::ceil<std::chrono::seconds>(limit - job_.loop.Now());
  job_.console.Log(base::LogLevel::kInfo, "waiting for " + base::AFewOf(late) +
                                              " to end what runs there, for " +
                                              base::Elapsed(left) + " at most");
}

void NodeGathering::GiveUpOverdue() {
  const Loop::Time limit = Since(ending_since_) + end_limit_;
  ReportEnding(limit);
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

// Each missing node has the whole time to return, from its loss and from when no ranks may run.
void NodeGathering::NoteMissing() {
  const Loop::Time now = job_.loop.Now();
  const bool ranks_may_run = job_.nodes.ledger().ClearAt() > now;
  for (uint32_t node = 0; node < job_.nodes.size(); ++node) {
    if (roster_.Of(node) != Availability::kReturning) {
      missing_.erase(node);
      continue;
    }
    if (!job_.nodes.state(node).alive()) were_lost_.insert(node);
    if (!missing_.try_emplace(node, now).second && ranks_may_run) {
      missing_[node] = now;
    }
  }
}

void NodeGathering::ReportReturned(const std::vector<uint32_t>& members) {
  std::vector<std::string> addresses;
  for (const uint32_t node : members) {
    if (were_lost_.erase(node) == 0) continue;
    addresses.push_back(job_.plan.nodes(static_cast<int>(node)).address());
  }
  if (addresses.empty()) return;
  job_.console.Log(base::LogLevel::kInfo,
                   base::AFewOf(addresses) + (addresses.size() == 1 ? " is back" : " are back"));
}

bool NodeGathering::AwaitsNodes(const Choice& idle) {
  if (awaits_since_ == Loop::Time{}) awaits_since_ = job_.loop.Now();
  const bool ends = ending_ && roster_.Choose(Availability::kConnected).empty < idle.empty;
  if (ends) return true;  // at the latest when they are given up
  return idle.suffices ? AwaitsOptional() : AwaitsNeeded(idle);
}

// A node that will soon have ended keeps its place, although a spare could take it.
bool NodeGathering::AwaitsPlaces(const Choice& idle) {
  const Loop::Time until = Since(ending_since_) + kOptionalNodeLimit;
  if (!ending_ || job_.loop.Now() >= until) return false;
  if (roster_.Choose(Availability::kConnected).places == idle.places) return false;
  WakeBy(until);
  return true;
}

bool NodeGathering::AwaitsOptional() {
  const Loop::Time until = Since(awaits_since_) + (again_ ? milliseconds(0) : kOptionalNodeLimit);
  // Those that were just tried in vain are not waited for.
  const bool may_return = std::ranges::any_of(missing_, [this](const auto& one) {
    return job_.nodes.state(one.first).state() != NodeState::kLost ||
           ProofOfEnd::In(job_.nodes.lost_because(one.first));
  });
  if (job_.loop.Now() >= until || !may_return) return false;
  ReachMissing();
  WakeBy(until);
  return true;
}

bool NodeGathering::AwaitsNeeded(const Choice& idle) {
  std::vector<uint32_t> late;
  for (const auto& [node, since] : missing_) {
    const Loop::Time until = Until(node, since);
    if (job_.loop.Now() < until) {
      WakeBy(until);
    } else {
      late.push_back(node);
    }
  }
  const bool may_suffice =
      late.size() < missing_.size() && roster_.SufficesWithout(late, Availability::kReturning);
  if (!may_suffice) return false;
  const Loop::Time report_at = awaits_since_ + kShortDelay;
  if (job_.loop.Now() < report_at) {
    WakeBy(report_at);
  } else if (!std::exchange(reported_missing_, true)) {
    ReportWait(idle);
  }
  ReachMissing();
  return true;
}

// A lease, or longer if a scheduler may have to create a node that connects back.
milliseconds NodeGathering::ReturnLimit(uint32_t node) const {
  const v1::Reach& reach = job_.plan.nodes(static_cast<int>(node)).reach();
  const milliseconds lease = job_.options.launch.lease();
  return reach.has_callback() ? std::max(lease, milliseconds(reach.callback().limit_ms())) : lease;
}

Loop::Time NodeGathering::Until(uint32_t node, Loop::Time since) const {
  return std::max(Since(since), job_.nodes.ledger().ClearAt()) + ReturnLimit(node);
}

void NodeGathering::ReportWait(const Choice& idle) {
  std::vector<std::string> addresses;
  Loop::Time until{};
  for (const auto& [node, since] : missing_) {
    addresses.push_back(job_.plan.nodes(static_cast<int>(node)).address());
    until = std::max(until, Until(node, since));
  }
  const auto limit = std::chrono::ceil<std::chrono::seconds>(until - job_.loop.Now());
  job_.console.Log(base::LogLevel::kInfo, "waiting for " + base::AFewOf(addresses) +
                                              " to return, for " + base::Elapsed(limit) +
                                              " at most: " + Roster::Needs(idle));
}

// Never two of a rank, even if a node has only lost its connection.
bool NodeGathering::AwaitsRanks() {
  const Loop::Time now = job_.loop.Now();
  const RankLedger& ledger = job_.nodes.ledger();
  const Loop::Time clear = ledger.ClearAt();
  if (clear <= now) return false;
  if (!ending_ && !std::exchange(reported_, true) && clear - now > kShortDelay) {
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
  for (const auto& [node, since] : missing_) {
    // A live node is being reconnected already.
    if (job_.nodes.state(node).alive()) continue;
    job_.nodes.TryRejoin(node, std::max(Until(node, since), reach_at_));
  }
  WakeBy(reach_at_);
}

}  // namespace autodist::chief
