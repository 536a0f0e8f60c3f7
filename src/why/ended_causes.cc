#include "why/ended_causes.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/utf8.h"
#include "issues/issue.h"
#include "snapshot/lookup.h"
#include "why/collectives.h"

namespace autodist::why {
namespace {

std::string Ago(const v1::JobSnapshot& snapshot, int64_t time_ms) {
  const auto ago = std::chrono::milliseconds(std::max<int64_t>(0, snapshot.time_ms() - time_ms));
  return base::Elapsed(ago) + " ago";
}

const Activity* NowOf(const Activities& ranks, uint32_t number) {
  const auto found = std::ranges::lower_bound(ranks, number, {}, &RankActivity::rank);
  return found == ranks.end() || found->rank != number ? nullptr : &found->now;
}

// "; the 3 others wait"
std::string OthersWait(size_t number) {
  if (number == 0) return "";
  return number == 1 ? "; the other rank waits" : "; the " + base::Count(number, "other") + " wait";
}

// Describes the running ranks: a single one, or all if they are in the same collective.
std::string WhatTheRestDo(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  const Activity& first = ranks.front().now;
  if (ranks.size() == 1)
    return snapshot::RankName(snapshot, ranks[0].rank) + " still runs: it " + first.words;
  const bool same = std::ranges::all_of(ranks, [&](const RankActivity& rank) {
    return rank.now.doing == Doing::kCollective && rank.now.collective == first.collective;
  });
  const std::string others = "the " + base::Count(ranks.size(), "other");
  if (!same) return others + " still run";
  return others + " wait in " +
         (first.collective.empty() ? "a collective" : WithArticle(first.collective));
}

// A few ranks have not ended although most have.
v1::Issue StillRuns(const v1::JobSnapshot& snapshot, const Activities& ranks, size_t ended,
                    int64_t last_ms) {
  std::vector<uint32_t> numbers;
  for (const RankActivity& rank : ranks) {
    if (numbers.empty() || numbers.back() != rank.rank) numbers.push_back(rank.rank);
  }
  const std::string others =
      ended == 1 ? "the other one ended" : "the " + base::Count(ended, "other") + " ended";
  const bool one = numbers.size() == 1;
  return StalledIssue(snapshot, numbers,
                      (one ? snapshot::RankName(snapshot, numbers[0]) + " has"
                           : snapshot::RanksName(numbers) + " have") +
                          " not ended: " + (one ? "it" : snapshot::RankName(snapshot, numbers[0])) +
                          " " + ranks[0].now.words + "; " + others + " with 0" +
                          (ended == 1 ? " " : ", the last ") + Ago(snapshot, last_ms));
}

}  // namespace

bool MostHaveEnded(const v1::JobSnapshot& snapshot) {
  const auto ended =
      std::ranges::count(snapshot.ranks(), v1::RANK_STATE_ENDED, &v1::RankSnapshot::state);
  return 2 * ended >= snapshot.ranks_size() && ended > 0;
}

std::optional<v1::Issue> RaisedCause(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  const v1::RankSnapshot* first = nullptr;
  size_t running = 0;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.auxiliary() || rank.state() != v1::RANK_STATE_RUNNING) continue;
    ++running;
    if (rank.failure().empty()) continue;
    const Activity* activity = NowOf(ranks, rank.rank());
    const bool goes_on = activity && (activity->AtWork() || activity->doing == Doing::kCollective);
    if (goes_on) continue;
    if (!first || rank.failure_ms() < first->failure_ms()) first = &rank;
  }
  if (!first) return std::nullopt;
  v1::Issue issue = StalledIssue(snapshot, {first->rank()},
                                 snapshot::RankName(snapshot, first->rank()) +
                                     " wrote an exception " + Ago(snapshot, first->failure_ms()) +
                                     " and has not ended: " + base::Printable(first->failure()) +
                                     OthersWait(running - 1));
  issues::AddEvidence(issue, snapshot::RankName(snapshot, first->rank()),
                      base::Printable(first->failure()), "its output");
  return issue;
}

std::optional<v1::Issue> EndedWellCause(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  if (ranks.empty()) return std::nullopt;
  std::vector<uint32_t> ended;
  int64_t last_ms = 0;
  for (const v1::RankSnapshot& rank : snapshot.ranks()) {
    if (rank.auxiliary() || rank.state() != v1::RANK_STATE_ENDED) continue;
    ended.push_back(rank.rank());
    last_ms = std::max(last_ms, rank.ended_ms());
  }
  if (ended.empty()) return std::nullopt;
  if (ended.size() >= ranks.size()) return StillRuns(snapshot, ranks, ended.size(), last_ms);
  const std::string who = ended.size() == 1 ? snapshot::RankName(snapshot, ended[0])
                                            : snapshot::RanksName(ended) + " have";
  return StalledIssue(snapshot, ended,
                      who + " ended with 0" + (ended.size() == 1 ? " " : ", the last ") +
                          Ago(snapshot, last_ms) + "; " + WhatTheRestDo(snapshot, ranks));
}

}  // namespace autodist::why
