#include "why/odd_ones.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "issues/issue.h"
#include "snapshot/lookup.h"
#include "why/doing.h"

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

// The kernel's state shows it, with whatever tool for the frames.
bool IsOfKernel(const RankActivity* rank) {
  constexpr std::array<Doing, 5> kOfKernel = {Doing::kSleep, Doing::kFile, Doing::kDisk,
                                              Doing::kSocket, Doing::kStopped};
  return std::ranges::find(kOfKernel, rank->now.doing) != kOfKernel.end();
}

// By a lock on a file, which the kernel's state shows; frames may show other locks.
bool IsLocked(const RankActivity* rank) {
  return rank->now.doing == Doing::kLock && !rank->now.has_frames;
}

// Ranks of different programs, or with other versions of a library, have different stacks anyway.
bool HaveSameCode(const RankActivity& one, const RankActivity& other) {
  return one.now.depth->code == other.now.depth->code && one.now.program == other.now.program &&
         !one.now.program.empty();
}

// Finds ranks that all wait in one place while most wait in another one, for when no tool shows
// frames: by the depth of their stacks, which must be known of all.
std::optional<v1::Issue> OddByDepth(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  if (!std::ranges::all_of(ranks, [&](const RankActivity* rank) {
        return RemainsInDepth(*rank) && HaveSameCode(*rank, *ranks[0]);
      })) {
    return std::nullopt;
  }
  Ranks here;
  Ranks there;
  for (const RankActivity* rank : ranks) {
    if (AreSamePlace(*rank->now.depth, *ranks[0]->now.depth)) {
      here.push_back(rank);
    } else if (there.empty() || AreSamePlace(*rank->now.depth, *there[0]->now.depth)) {
      there.push_back(rank);
    } else {
      return std::nullopt;  // a third place
    }
  }
  if (here.size() < there.size()) here.swap(there);
  if (there.empty() || here.size() < 2 || here.size() == there.size()) return std::nullopt;
  const auto is_close_to_one = [&](const RankActivity* rank) {
    return std::ranges::any_of(here, [&](const RankActivity* one) {
      return AreCloseDepths(*one->now.depth, *rank->now.depth);
    });
  };
  if (std::ranges::any_of(there, is_close_to_one)) return std::nullopt;
  const auto standing = static_cast<size_t>(std::ranges::count_if(here, Stands));
  if (2 * standing <= here.size()) return std::nullopt;
  v1::Issue issue = Odd(snapshot, there, here, "wait in another place");
  for (const Ranks* those : {&there, &here}) {
    issues::AddEvidence(issue, snapshot::RanksName(Numbers(*those)),
                        "a stack of " + std::to_string(those->front()->now.depth->bytes) + " bytes",
                        "/proc");
  }
  return issue;
}

}  // namespace

std::optional<v1::Issue> OddOnes(const v1::JobSnapshot& snapshot, const Ranks& ranks,
                                 bool are_all) {
  for (const auto& [doing, one, several] :
       {std::tuple{Doing::kSocket, "waits at a socket", "wait at sockets"},
        std::tuple{Doing::kWait, "waits for another thread or process",
                   "wait for other threads or processes"}}) {
    const Ranks waiting = Those(ranks, doing, true);
    const Ranks odd = Those(ranks, doing, false);
    const bool sleeps = std::ranges::all_of(
        odd, [](const RankActivity* rank) { return rank->now.doing == Doing::kSleep; });
    // Collectives do not wait for locks on files, so these may even be most.
    const bool locked = doing == Doing::kWait && std::ranges::all_of(odd, IsLocked);
    const bool definite = doing == Doing::kSocket
                              ? !waiting.empty()
                              : waiting.size() >= 2 || (!waiting.empty() && (sleeps || locked));
    if (!definite || odd.empty() || (odd.size() > waiting.size() && !locked)) continue;
    const bool unclear = std::ranges::any_of(
        odd, [](const RankActivity* rank) { return rank->now.MayBeInCollective(); });
    if (unclear && odd.size() == waiting.size()) continue;
    if (!AreComparable(ranks) && !std::ranges::all_of(odd, IsOfKernel)) continue;
    return Odd(snapshot, odd, waiting, waiting.size() == 1 ? one : several);
  }
  if (!AreComparable(ranks)) return std::nullopt;
  std::map<std::string, Ranks> places;
  for (const RankActivity* rank : ranks) places[rank->now.place].push_back(rank);
  const auto found =
      std::ranges::max_element(places, {}, [](const auto& place) { return place.second.size(); });
  const std::string most = found->first;
  const Ranks waiting = places[most];
  if (most.empty()) return are_all ? OddByDepth(snapshot, ranks) : std::nullopt;
  if (waiting.size() < 2 || 2 * waiting.size() <= ranks.size()) return std::nullopt;
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
