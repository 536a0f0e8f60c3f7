#include "why/straggler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/ranges.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"

namespace autodist::why {
namespace {

// Of the main thread, between the samples; nullopt: unknown.
std::optional<double> CoresOf(const RankActivity& rank) {
  if (!rank.earlier || !rank.earlier->work || !rank.now.work) return std::nullopt;
  const Work& from = *rank.earlier->work;
  const Work& to = *rank.now.work;
  if (to.at_ms <= from.at_ms || to.main_thread < from.main_thread) return std::nullopt;
  return static_cast<double>(to.main_thread - from.main_thread) /
         static_cast<double>(to.at_ms - from.at_ms);
}

bool HasGpus(const v1::JobSnapshot& snapshot, const RankActivity& rank) {
  const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank.rank);
  return of && of->gpus_size() > 0;
}

bool IsFoundWaiting(const RankActivity& rank) {
  const auto waits = [](const Activity& activity) {
    return activity.doing == Doing::kCollective || activity.doing == Doing::kSocket;
  };
  return waits(rank.now) || (rank.earlier && waits(*rank.earlier));
}

std::string Percent(double cores) { return std::to_string(std::lround(cores * 100)) + " %"; }

}  // namespace

std::optional<v1::Issue> StragglerCause(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  std::vector<double> cores;
  for (const RankActivity& rank : ranks) {
    const auto one = CoresOf(rank);
    if (!one || rank.one_of_several || HasGpus(snapshot, rank)) return std::nullopt;
    cores.push_back(*one);
  }
  const auto most = std::ranges::max_element(cores);
  const RankActivity& straggler = ranks[static_cast<size_t>(most - cores.begin())];
  const double most_cores = *most;
  cores.erase(most);
  const double others = base::Median(cores);
  const bool any_waits = std::ranges::any_of(
      ranks, [&](const RankActivity& rank) { return &rank != &straggler && IsFoundWaiting(rank); });
  const bool stands_out =
      most_cores >= std::max({issues::kStragglerCores, others + issues::kStragglerMoreCores,
                              issues::kStragglerTimes * others});
  if (!stands_out || !any_waits || straggler.now.doing == Doing::kCollective) return std::nullopt;
  v1::Issue issue;
  issue.set_kind(v1::Issue::KIND_SLOW);
  issues::AddRank(snapshot, straggler.rank, issue);
  issue.set_what(snapshot::RankName(snapshot, straggler.rank) +
                 " keeps the others waiting in each step: it computes " + Percent(most_cores) +
                 " of the time, the others " + Percent(others));
  issues::AddEvidence(issue, snapshot::RankName(snapshot, straggler.rank), straggler.now.evidence,
                      straggler.now.source);
  return issue;
}

}  // namespace autodist::why
