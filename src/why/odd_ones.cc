#include "why/odd_ones.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "issues/issue.h"
#include "snapshot/lookup.h"
#include "why/connections.h"
#include "why/doing.h"

namespace autodist::why {
namespace {

std::string CommonPlace(const Ranks& ranks) {
  const std::string& place = ranks.front()->now.place;
  const bool same = std::ranges::all_of(
      ranks, [&](const RankActivity* rank) { return rank->now.place == place; });
  return same && !place.empty() ? " in " + place : "";
}

// "…, while the 3 others wait at sockets in exchange (train.py)": `rest` is ", while" and so on.
v1::Issue Odd(const v1::JobSnapshot& snapshot, const Ranks& odd, const std::string& rest,
              bool stalled) {
  const std::vector<uint32_t> numbers = Numbers(odd);
  v1::Issue issue =
      StalledIssue(snapshot, numbers,
                   (odd.size() == 1 ? "" : snapshot::RanksName(numbers) + " stand still: ") +
                       WhatTheyDo(snapshot, odd) + rest);
  AllowForService(odd, stalled, issue);
  return issue;
}

// ", while the 3 others wait at sockets in exchange (train.py)"
std::string While(const Ranks& others, const std::string& they_do) {
  return ", while " + Others(others.size()) + " " + they_do + CommonPlace(others);
}

// The kernel's state shows it, with whatever tool for the frames.
bool IsOfKernel(const RankActivity* rank) {
  constexpr std::array<Doing, 4> kOfKernel = {Doing::kSleep, Doing::kFile, Doing::kDisk,
                                              Doing::kSocket};
  return std::ranges::find(kOfKernel, rank->now.doing) != kOfKernel.end();
}

// What the odd ones do can be compared with what the other ranks do.
bool CanCompare(const Ranks& ranks, const Ranks& odd) {
  return AreComparable(ranks) || std::ranges::all_of(odd, IsOfKernel);
}

bool MayBeInCollective(const RankActivity* rank) { return rank->now.MayBeInCollective(); }

// By a lock on a file, which the kernel's state shows; frames may show other locks.
bool IsLocked(const RankActivity* rank) {
  return rank->now.doing == Doing::kLock && !rank->now.has_frames;
}

// Finds ranks that do something else than wait at sockets, as most do.
std::optional<v1::Issue> OddBesideSockets(const v1::JobSnapshot& snapshot, const Ranks& ranks,
                                          bool stalled) {
  const Ranks waiting = Those(ranks, Doing::kSocket);
  const Ranks odd = Those(ranks, Doing::kSocket, false);
  if (waiting.empty() || odd.empty() || odd.size() > waiting.size()) return std::nullopt;
  // Those at sockets may wait for a service, and the rest for them.
  const bool unclear =
      std::ranges::any_of(odd, MayBeInCollective) &&
      (odd.size() == waiting.size() || AwaitingRanks(snapshot, ranks).size() < waiting.size());
  if (unclear || !CanCompare(ranks, odd)) return std::nullopt;
  return Odd(snapshot, odd,
             While(waiting, waiting.size() == 1 ? "waits at a socket" : "wait at sockets"),
             stalled);
}

// Finds ranks that do something else than wait for a thread or process, as most do.
std::optional<v1::Issue> OddBesideThreads(const v1::JobSnapshot& snapshot, const Ranks& ranks,
                                          bool stalled) {
  const Ranks waiting = Those(ranks, Doing::kWait);
  const Ranks odd = Those(ranks, Doing::kWait, false);
  if (waiting.empty() || odd.empty()) return std::nullopt;
  const bool sleep = std::ranges::all_of(
      odd, [](const RankActivity* rank) { return rank->now.doing == Doing::kSleep; });
  // Collectives do not wait for locks on files, so these may even be most.
  const bool locked = std::ranges::all_of(odd, IsLocked);
  if (waiting.size() < 2 && !sleep && !locked) return std::nullopt;
  if (odd.size() > waiting.size() && !locked) return std::nullopt;
  const Ranks awaiting = AwaitingRanks(snapshot, ranks);
  const auto may_await_ranks = [&](const RankActivity* rank) {
    const Activity& now = rank->now;
    const bool awaits_other =
        now.awaits_no_rank || (!now.awaits_end.empty() && std::ranges::count(awaiting, rank) == 0);
    return now.MayBeInCollective() && (odd.size() == waiting.size() || !awaits_other);
  };
  if (std::ranges::any_of(odd, may_await_ranks) || !CanCompare(ranks, odd)) return std::nullopt;
  const bool one = waiting.size() == 1;
  const std::string wait =
      one ? "waits for another thread or process" : "wait for other threads or processes";
  if (!locked || odd.size() < waiting.size()) {
    return Odd(snapshot, odd, While(waiting, wait), stalled);
  }
  // Most do not wait, so one that does may keep the lock from the rest.
  return Odd(snapshot, odd,
             "; " + Others(waiting.size()) +
                 (one ? ", which may hold it, " : ", one of which may hold it, ") + wait,
             stalled);
}

// Ranks of different programs, or with other versions of a library, have different stacks anyway.
bool HaveSameCode(const RankActivity& one, const RankActivity& other) {
  return one.now.depth->code == other.now.depth->code && one.now.program == other.now.program &&
         !one.now.program.empty();
}

bool AnyHasEnded(const v1::JobSnapshot& snapshot) {
  return std::ranges::any_of(snapshot.ranks(), [](const v1::RankSnapshot& rank) {
    return !rank.auxiliary() && rank.state() == v1::RANK_STATE_ENDED;
  });
}

// Finds ranks that all wait in one place while most wait in another one, for when no tool shows
// frames: by the depth of their stacks, which must be known of all.
std::optional<v1::Issue> OddByDepth(const v1::JobSnapshot& snapshot, const Ranks& ranks,
                                    bool stalled) {
  if (AnyHasEnded(snapshot)) return std::nullopt;  // which explains it better
  if (!std::ranges::all_of(ranks, [&](const RankActivity* rank) {
        return rank->now.doing == Doing::kWait && RemainsInDepth(*rank) &&
               HaveSameCode(*rank, *ranks[0]) && !MayGoOn(snapshot, *rank, stalled);
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
  if (there.empty() || here.size() == there.size()) return std::nullopt;
  const auto is_close_to_one = [&](const RankActivity* rank) {
    return std::ranges::any_of(here, [&](const RankActivity* one) {
      return AreCloseDepths(*one->now.depth, *rank->now.depth);
    });
  };
  if (std::ranges::any_of(there, is_close_to_one)) return std::nullopt;
  if (!std::ranges::all_of(here, Stands)) return std::nullopt;
  v1::Issue issue = Odd(snapshot, there, While(here, "wait in another place"), stalled);
  for (const Ranks* those : {&there, &here}) {
    issues::AddEvidence(issue, snapshot::RanksName(Numbers(*those)),
                        "a stack of " + std::to_string(those->front()->now.depth->bytes) + " bytes",
                        "/proc");
  }
  return issue;
}

// Finds ranks that are elsewhere than most. `are_all`: what every running rank does is known.
std::optional<v1::Issue> OddByPlace(const v1::JobSnapshot& snapshot, const Ranks& ranks,
                                    bool are_all, bool stalled) {
  if (!AreComparable(ranks)) return std::nullopt;
  std::map<std::string, Ranks> places;
  for (const RankActivity* rank : ranks) places[rank->now.place].push_back(rank);
  const auto found =
      std::ranges::max_element(places, {}, [](const auto& place) { return place.second.size(); });
  const std::string& most = found->first;
  const Ranks& waiting = found->second;
  if (most.empty()) return are_all ? OddByDepth(snapshot, ranks, stalled) : std::nullopt;
  if (2 * waiting.size() <= ranks.size()) return std::nullopt;
  Ranks odd;
  std::ranges::copy_if(ranks, std::back_inserter(odd), [&](const RankActivity* rank) {
    return rank->now.place != most && !rank->now.place.empty();
  });
  if (odd.empty() || odd.size() + waiting.size() < ranks.size()) return std::nullopt;
  return Odd(snapshot, odd, While(waiting, "wait"), stalled);
}

}  // namespace

std::optional<v1::Issue> OddOnes(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                 bool stalled) {
  const Ranks all = All(ranks);
  if (auto cause = OddBesideSockets(snapshot, all, stalled)) return cause;
  if (auto cause = OddBesideThreads(snapshot, all, stalled)) return cause;
  return OddByPlace(snapshot, all, WithoutSample(snapshot, ranks) == 0, stalled);
}

std::optional<v1::Issue> OddAmongGpus(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                      bool stalled) {
  Ranks computing;
  Ranks odd;
  for (const RankActivity& rank : ranks) {
    const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank.rank);
    const bool computes = of && of->gpus_size() > 0 && rank.now.doing == Doing::kCompute;
    (computes ? computing : odd).push_back(&rank);
  }
  const auto rests = [](const RankActivity* rank) {
    return Stands(rank) && HasRested(*rank).value_or(false) && !rank->now.MayBeAtWork() &&
           rank->now.doing != Doing::kCollective && !rank->now.MayBeInCollective();
  };
  const bool same = std::ranges::all_of(computing, [](const RankActivity* rank) {
    return SameTwice(rank) && rank->earlier->words == rank->now.words;
  });
  if (!same || odd.empty() || odd.size() >= computing.size() || !std::ranges::all_of(odd, rests)) {
    return std::nullopt;
  }
  return Odd(snapshot, odd, While(computing, "wait for their GPUs, or compute"), stalled);
}

}  // namespace autodist::why
