// Ranks that failed, and nodes that are away.
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
    AddEnd(of.now, rank, "is lost with its node", "not told", found);
  }
}

void NodesAway(const Snapshots& of, AllFound& found) {
  for (int node = 0; node < of.now.nodes_size(); ++node) {
    const v1::NodeSnapshot& away = of.now.nodes(node);
    const bool lost = away.phase() == v1::NODE_PHASE_LOST;
    if (!lost && away.phase() != v1::NODE_PHASE_RECONNECTING) continue;
    std::string what = lost ? " is lost" : " does not answer";
    if (away.ranks_size() > 0) {
      what += ", with " + snapshot::RanksName({away.ranks().begin(), away.ranks().end()});
    }
    Found& one = AddOfNode(found, "away", of.now, node, v1::Issue::KIND_AWAY, what);
    AddEvidence(one.issue, "connection",
                away.detail().empty() ? "broken" : base::Printable(away.detail()), "chief");
    if (away.last_contact_ms() <= 0 || of.now.time_ms() <= away.last_contact_ms()) continue;
    const std::chrono::milliseconds silent(of.now.time_ms() - away.last_contact_ms());
    AddEvidence(one.issue, "last heard", base::Elapsed(silent) + " ago", "chief");
  }
}

}  // namespace autodist::issues
