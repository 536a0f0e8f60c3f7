// Checks for failed and slow ranks and for unreachable nodes.
#include <algorithm>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "issues/checks.h"
#include "snapshot/lookup.h"

namespace autodist::issues {
namespace {

void AddEnd(const v1::JobSnapshot& now, const v1::RankSnapshot& rank, const std::string& how,
            const std::string& ended, AllFound& found) {
  Found& one = AddOfRank(found, "failed", now, rank.rank(), v1::Issue::KIND_FAILED, " " + how);
  AddEvidence(one.issue, snapshot::RankName(now, rank.rank()), ended, "agent");
  if (rank.last_line().empty()) return;
  AddEvidence(one.issue, "its last line", base::Printable(rank.last_line()), "its output");
}

}  // namespace

void FailedRanks(const Snapshots& of, AllFound& found) {
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (rank.state() != v1::RANK_STATE_FAILED) continue;
    const std::string ended = base::Printable(rank.ended());
    AddEnd(of.now, rank, ended, ended, found);
  }
}

void LostRanks(const Snapshots& of, AllFound& found) {
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (rank.state() != v1::RANK_STATE_LOST) continue;
    AddEnd(of.now, rank, "is lost with its node", "unknown", found);
  }
}

void DisconnectedNodes(const Snapshots& of, AllFound& found) {
  for (int i = 0; i < of.now.nodes_size(); ++i) {
    const v1::NodeSnapshot& node = of.now.nodes(i);
    const bool lost = node.phase() == v1::NODE_PHASE_LOST;
    if (!lost && node.phase() != v1::NODE_PHASE_RECONNECTING) continue;
    std::string what = lost ? " is lost" : " does not answer";
    if (node.ranks_size() > 0) {
      what += ", with " + snapshot::RanksName({node.ranks().begin(), node.ranks().end()});
    }
    Found& one = AddOfNode(found, "disconnected", of.now, i, v1::Issue::KIND_DISCONNECTED, what);
    AddEvidence(one.issue, "connection",
                node.detail().empty() ? "broken" : base::Printable(node.detail()), "chief");
    if (node.last_contact_ms() <= 0 || of.now.time_ms() <= node.last_contact_ms()) continue;
    const std::chrono::milliseconds silent(of.now.time_ms() - node.last_contact_ms());
    AddEvidence(one.issue, "last contact", base::Elapsed(silent) + " ago", "chief");
  }
}

// Only for ranks that report their own steps and do not synchronize in each step.
void SlowRanks(const Snapshots& of, AllFound& found) {
  std::vector<double> rates;
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    if (rank.progress().rate() > 0) rates.push_back(rank.progress().rate());
  }
  if (rates.size() < kMinRanksToCompare) return;
  std::ranges::sort(rates);
  const double median = rates[rates.size() / 2];
  for (const v1::RankSnapshot& rank : of.now.ranks()) {
    const double rate = rank.progress().rate();
    if (rate <= 0 || rate * kSlowStep > median || rank.state() != v1::RANK_STATE_RUNNING) continue;
    Found& one = AddOfRank(found, "slow", of.now, rank.rank(), v1::Issue::KIND_SLOW,
                           " is " + Decimal(median / rate) + " x slower than the median");
    one.min_duration_ms = kMinSlowStepsMs;
    AddEvidence(one.issue, kStepsPerSecond,
                Decimal(rate) + "; the median of " + base::Count(rates.size(), "rank") + ": " +
                    Decimal(median),
                "its output");
  }
}

}  // namespace autodist::issues
