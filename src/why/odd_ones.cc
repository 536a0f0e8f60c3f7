#include "why/odd_ones.h"
#include "snapshot/lookup.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

namespace autodist::why {
namespace {

std::string CommonPlace(const Ranks& ranks) {
  const std::string& place = ranks.front()->now.place;
  const bool same = std::ranges::all_of(
      ranks, [&](const RankActivity* rank) { return rank->now.place == place; });
  return same && !place.empty() ? " in " + place : "";
}

// "…; the 3 others wait at sockets in exchange (train.py)".
v1::Issue Odd(const v1::JobSnapshot& snapshot, const Ranks& odd, const Ranks& others,
              const std::string& others_do) {
  return StalledIssue(
      snapshot, Numbers(odd),
      (odd.size() == 1 ? "" : snapshot::RanksName(Numbers(odd)) + " stand still: ") +
          WhatTheyDo(snapshot, odd) + ", while " + Others(others.size()) + " " + others_do +
          CommonPlace(others));
}

Ranks Those(const Ranks& ranks, Doing doing, bool is) {
  Ranks those;
  std::ranges::copy_if(ranks, std::back_inserter(those),
                       [&](const RankActivity* rank) { return (rank->now.doing == doing) == is; });
  return those;
}

}  // namespace

std::optional<v1::Issue> OddOnes(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  for (const auto& [doing, one, several] :
       {std::tuple{Doing::kSocket, "waits at a socket", "wait at sockets"},
        std::tuple{Doing::kWait, "waits for another thread or process",
                   "wait for other threads or processes"}}) {
    const Ranks waiting = Those(ranks, doing, true);
    const Ranks odd = Those(ranks, doing, false);
    const bool sleeps = std::ranges::all_of(
        odd, [](const RankActivity* rank) { return rank->now.doing == Doing::kSleep; });
    const bool definite = doing == Doing::kSocket
                              ? !waiting.empty()
                              : waiting.size() >= 2 || (!waiting.empty() && sleeps);
    if (!definite || odd.empty() || odd.size() > waiting.size()) continue;
    return Odd(snapshot, odd, waiting, waiting.size() == 1 ? one : several);
  }
  std::map<std::string, Ranks> places;
  for (const RankActivity* rank : ranks) places[rank->now.place].push_back(rank);
  const auto found =
      std::ranges::max_element(places, {}, [](const auto& place) { return place.second.size(); });
  const std::string most = found->first;
  const Ranks waiting = places[most];
  if (most.empty() || waiting.size() < 2 || 2 * waiting.size() <= ranks.size()) return std::nullopt;
  Ranks odd;
  std::ranges::copy_if(ranks, std::back_inserter(odd), [&](const RankActivity* rank) {
    return rank->now.place != most && !rank->now.place.empty();
  });
  if (odd.empty() || odd.size() + waiting.size() < ranks.size()) return std::nullopt;
  return Odd(snapshot, odd, waiting, "wait");
}

std::optional<v1::Issue> OddAmongGpus(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  Ranks computing;
  Ranks odd;
  for (const RankActivity& rank : ranks) {
    const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank.rank);
    const bool computes = of && of->gpus_size() > 0 && rank.now.doing == Doing::kCompute;
    (computes ? computing : odd).push_back(&rank);
  }
  const auto rests = [](const RankActivity* rank) {
    return Stands(rank) && HasRested(*rank).value_or(false) && !rank->now.MayBeAtWork() &&
           rank->now.doing != Doing::kCollective;
  };
  const bool same = std::ranges::all_of(computing, [](const RankActivity* rank) {
    return SameTwice(rank) && rank->earlier->words == rank->now.words;
  });
  if (!same || odd.empty() || odd.size() >= computing.size() || !std::ranges::all_of(odd, rests)) {
    return std::nullopt;
  }
  return Odd(
      snapshot, odd, computing,
      computing.size() == 1 ? "waits for its GPU, or computes" : "wait for their GPUs, or compute");
}

}  // namespace autodist::why
