#include "issues/issue.h"

#include <algorithm>
#include <cmath>

#include "base/quantity.h"
#include "base/utf8.h"
#include "snapshot/lookup.h"

namespace autodist::issues {

std::string Number(double value) {
  return base::Thousands(static_cast<size_t>(std::max(0LL, std::llround(value))));
}

std::string Decimal(double value) {
  const long tenths = std::lround(value * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::string Cores(double cores) { return Decimal(cores) + " cores"; }

void AddEvidence(v1::Issue& issue, const std::string& what, const std::string& value,
                 const std::string& source, bool against) {
  v1::Evidence& evidence = *issue.add_evidence();
  evidence.set_what(what);
  evidence.set_value(value);
  evidence.set_source(source);
  evidence.set_against(against);
}

void AddRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue& issue) {
  if (std::ranges::count(issue.ranks(), rank) == 0) issue.add_ranks(rank);
  const v1::RankSnapshot* found = snapshot::FindRank(snapshot, rank);
  if (found && snapshot::NodeOf(snapshot, *found) &&
      std::ranges::count(issue.nodes(), found->node()) == 0) {
    issue.add_nodes(found->node());
  }
}

v1::Issue OfNode(const v1::JobSnapshot& snapshot, int node, v1::Issue::Kind kind,
                 const std::string& what) {
  const v1::NodeSnapshot& of = snapshot.nodes(node);
  v1::Issue issue;
  issue.set_kind(kind);
  issue.add_nodes(static_cast<uint32_t>(node));
  *issue.mutable_ranks() = of.ranks();
  issue.set_what(base::Printable(of.address()) + what);
  return issue;
}

v1::Issue OfRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue::Kind kind,
                 const std::string& what) {
  v1::Issue issue;
  issue.set_kind(kind);
  AddRank(snapshot, rank, issue);
  issue.set_what(snapshot::RankName(snapshot, rank) + what);
  return issue;
}

Found& AddOfNode(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot, int node,
                 v1::Issue::Kind kind, const std::string& what) {
  Found& one = found.emplace_back();
  one.key = key + std::to_string(node);
  one.issue = OfNode(snapshot, node, kind, what);
  return one;
}

Found& AddOfRank(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot,
                 uint32_t rank, v1::Issue::Kind kind, const std::string& what) {
  Found& one = found.emplace_back();
  one.key = key + std::to_string(rank);
  one.issue = OfRank(snapshot, rank, kind, what);
  return one;
}

}  // namespace autodist::issues
