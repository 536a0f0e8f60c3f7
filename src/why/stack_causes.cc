#include "why/stack_causes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "issues/issue.h"
#include "snapshot/lookup.h"
#include "why/calls.h"
#include "why/doing.h"
#include "why/odd_ones.h"

namespace autodist::why {
namespace {

constexpr size_t kShownGroups = 5;  // groups of ranks shown as evidence

// It does the same as before, and no worker of the data loader has run.
bool Remains(const RankActivity* rank) {
  return SameTwice(rank) &&
         (rank->now.doing != Doing::kDataLoader || HasRested(*rank).value_or(true));
}

// If the waiting ranks have not run between the samples, no collective has completed, and the rank
// that is missing in it may run: it may only poll for something that never comes.
bool Missing(const Ranks& waiting, const Ranks& others) {
  const bool rested = std::ranges::any_of(
      waiting, [](const RankActivity* rank) { return HasRested(*rank).has_value(); });
  return std::ranges::all_of(waiting, WaitsStill) &&
         std::ranges::all_of(others, rested ? Remains : Stands);
}

// Or it waits again and again, as ranks do that poll for something, or for Python's lock; frames
// would show for what.
bool StandsOrPolls(const RankActivity* rank) {
  if (Stands(rank)) return true;
  if (rank->now.has_frames || !SameTwice(rank)) return false;
  return rank->now.doing == Doing::kSleep ||
         (rank->now.doing == Doing::kWait && RemainsInDepth(*rank));
}

// Most stand still, so that they wait for the rest.
bool StandStill(const Ranks& ranks) {
  const auto standing = static_cast<size_t>(std::ranges::count_if(ranks, Stands));
  return std::ranges::all_of(ranks, StandsOrPolls) && 2 * standing > ranks.size();
}

std::map<std::string, Ranks> ByCollective(const Ranks& ranks) {
  std::map<std::string, Ranks> groups;
  for (const RankActivity* rank : ranks) groups[rank->now.collective].push_back(rank);
  return groups;
}

// The collective that most of the ranks are in.
std::string MostIn(const std::map<std::string, Ranks>& groups) {
  const auto most =
      std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
  return most == groups.end() ? "" : most->first;
}

// `unclear`: some other ranks may wait as well.
v1::Issue NotEntered(const v1::JobSnapshot& snapshot, const Ranks& waiting, const Ranks& missing,
                     bool unclear = false) {
  const std::string collective = MostIn(ByCollective(waiting));
  const std::string where = collective.empty() ? "the collective" : WithThe(collective);
  const std::string entered =
      " not entered " + where + " in which " + OthersWait(waiting.size(), !unclear) + "; ";
  const bool one = missing.size() == 1;
  return StalledIssue(snapshot, Numbers(missing),
                      NamesOf(snapshot, missing) + (one ? " has" : " have") + entered +
                          (one ? "it " + missing[0]->now.words : WhatTheyDo(snapshot, missing)));
}

// Most wait in one collective, and the rest in point-to-point operations, for a rank that waits in
// it.
std::optional<v1::Issue> AwaitsOneOf(const v1::JobSnapshot& snapshot, const Ranks& waiting) {
  if (!AreComparable(waiting)) return std::nullopt;
  Ranks together;
  Ranks rest;
  for (const RankActivity* rank : waiting) {
    const std::string& kind = rank->now.call.kind;
    if (kind.empty()) return std::nullopt;
    if (!IsOfTwo(kind) && !together.empty() && together[0]->now.call.kind != kind) {
      return std::nullopt;
    }
    (IsOfTwo(kind) ? rest : together).push_back(rank);
  }
  if (rest.empty() || together.size() <= rest.size()) return std::nullopt;
  return NotEntered(snapshot, together, rest);
}

// All ranks wait for the same kind of thing, which is not another rank.
std::optional<v1::Issue> AllWait(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  constexpr std::array<Doing, 4> kWaitsForever = {Doing::kLock, Doing::kDataLoader, Doing::kFile,
                                                  Doing::kDisk};
  const Doing doing = ranks[0]->now.doing;
  const bool same = std::ranges::all_of(
      ranks, [doing](const RankActivity* rank) { return rank->now.doing == doing; });
  if (!same || std::ranges::find(kWaitsForever, doing) == kWaitsForever.end()) {
    return std::nullopt;
  }
  if (std::ranges::all_of(ranks, [](const auto* rank) { return rank->now.awaits_input; })) {
    const std::string all =
        ranks.size() == 1 ? ""
                          : "all " + base::Count(ranks.size(), "rank") + " wait for their input: ";
    return StalledIssue(snapshot, Numbers(ranks),
                        all + WhatTheyDo(snapshot, ranks) +
                            "; only the rank of --stdin-rank receives what you type");
  }
  const std::string who = ranks.size() == 1 ? "" : "no rank makes progress: ";
  return StalledIssue(snapshot, Numbers(ranks), who + WhatTheyDo(snapshot, ranks));
}

std::string Ago(const v1::JobSnapshot& snapshot, int64_t time_ms) {
  const auto ago = std::chrono::milliseconds(std::max<int64_t>(0, snapshot.time_ms() - time_ms));
  return base::Elapsed(ago) + " ago";
}

const Activity* NowOf(const Activities& ranks, uint32_t number) {
  const auto found = std::ranges::lower_bound(ranks, number, {}, &RankActivity::rank);
  return found == ranks.end() || found->rank != number ? nullptr : &found->now;
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

constexpr std::ptrdiff_t kMaxShownCalls = 4;

// The ranks that wait in one call.
struct Waiters {
  Call call;
  Ranks ranks;
};

std::vector<Waiters> ByCall(const Ranks& waiting) {
  std::vector<Waiters> groups;
  for (const RankActivity* rank : waiting) {
    const auto same = std::ranges::find(groups, rank->now.call, &Waiters::call);
    if (same == groups.end()) {
      groups.push_back({rank->now.call, {rank}});
    } else {
      same->ranks.push_back(rank);
    }
  }
  std::ranges::stable_sort(groups, {}, [](const Waiters& one) { return one.ranks.size(); });
  return groups;
}

// The last step that all of them have reported; nullopt: unknown, or not the same.
std::optional<uint64_t> StepOf(const v1::JobSnapshot& snapshot, const Waiters& group) {
  std::optional<uint64_t> step;
  for (const RankActivity* rank : group.ranks) {
    const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank->rank);
    if (!of || !of->progress().has_step()) return std::nullopt;
    if (step && *step != of->progress().step()) return std::nullopt;
    step = of->progress().step();
  }
  return step;
}

// "rank 0 (host1) waits in A after step 40, the 3 others in B after step 41"
std::string TextOf(const v1::JobSnapshot& snapshot, const std::vector<Waiters>& groups) {
  std::set<std::optional<uint64_t>> steps;
  for (const Waiters& group : groups) steps.insert(StepOf(snapshot, group));
  const bool steps_differ = steps.size() > 1 && !steps.contains(std::nullopt);
  std::vector<Waiters> shown = groups;
  if (std::ssize(shown) > kMaxShownCalls) {
    shown.erase(shown.begin() + kMaxShownCalls - 1, shown.end() - 1);
  }
  std::string text;
  for (const Waiters& group : shown) {
    const size_t number = group.ranks.size();
    const bool are_others = &group == &shown.back() && shown.size() == groups.size();
    if (text.empty()) {
      text = NamesOf(snapshot, group.ranks) + (number == 1 ? " waits" : " wait");
    } else {
      text += ", " + (are_others ? Others(number) : NamesOf(snapshot, group.ranks));
    }
    text += " in " + CallText(group.call);
    if (steps_differ) text += " after step " + base::Thousands(*StepOf(snapshot, group));
  }
  return text;
}

// All groups but the largest. Without a largest one, none is known to be right.
Ranks OddOnesOf(const std::vector<Waiters>& groups) {
  const auto last = groups.end() - 1;
  const bool is_one = last->ranks.size() > (last - 1)->ranks.size();
  Ranks odd;
  for (auto group = groups.begin(); group != (is_one ? last : groups.end()); ++group) {
    odd.insert(odd.end(), group->ranks.begin(), group->ranks.end());
  }
  std::ranges::sort(odd, {}, &RankActivity::rank);
  return odd;
}

// Finds ranks that wait for each other in calls that cannot match: a common mistake of programs,
// such as a collective below `if rank == 0`. `waiting`: all ranks, at least one, which stand still.
std::optional<v1::Issue> DifferentCallsCause(const v1::JobSnapshot& snapshot,
                                             const Ranks& waiting) {
  const std::string& first = waiting[0]->now.call.kind;
  const bool differ = std::ranges::any_of(
      waiting, [&](const RankActivity* rank) { return rank->now.call.kind != first; });
  const bool all_known = std::ranges::none_of(
      waiting, [](const RankActivity* rank) { return IsOfTwo(rank->now.call.kind); });
  if (!differ || !all_known || !AreComparable(waiting)) return std::nullopt;
  const std::vector<Waiters> groups = ByCall(waiting);
  return StalledIssue(snapshot, Numbers(OddOnesOf(groups)),
                      TextOf(snapshot, groups) + ": they do not execute the same collectives");
}

}  // namespace

bool AllRun(const Activities& ranks) {
  return !ranks.empty() && std::ranges::all_of(ranks, [](const RankActivity& rank) {
    const bool moved = !HasRested(rank).value_or(true) || (rank.earlier && !SameTwice(&rank));
    return rank.now.AtWork() || (moved && !rank.now.polls);
  });
}

bool AllMoveData(const Activities& ranks) {
  return !ranks.empty() && std::ranges::all_of(ranks, [](const RankActivity& rank) {
    return rank.earlier && rank.earlier->work && rank.now.work &&
           rank.now.work->bytes > rank.earlier->work->bytes;
  });
}

bool AllStand(const Activities& ranks) {
  return std::ranges::all_of(ranks, [](const RankActivity& rank) { return Stands(&rank); });
}

size_t Waiting(const Activities& ranks) { return Those(All(ranks), Doing::kCollective).size(); }

std::optional<v1::Issue> StoppedCause(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  const Ranks stopped = Those(All(ranks), Doing::kStopped);
  if (stopped.empty()) return std::nullopt;
  const Ranks waiting = Those(All(ranks), Doing::kCollective);
  const std::vector<uint32_t> numbers = Numbers(stopped);
  std::string what = stopped.size() == 1 ? WhatTheyDo(snapshot, stopped)
                                         : snapshot::RanksName(numbers) +
                                               " are stopped: " + WhatTheyDo(snapshot, stopped);
  if (!waiting.empty()) {
    const std::string collective = MostIn(ByCollective(waiting));
    what += "; " + OthersWait(waiting.size()) +
            (collective.empty() ? " for it" : " in " + WithArticle(collective));
  }
  return StalledIssue(snapshot, numbers, what);
}

std::optional<v1::Issue> StandstillCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                         bool stalled) {
  const Ranks waiting = Those(All(ranks), Doing::kCollective);
  Ranks others = Those(All(ranks), Doing::kCollective, false);
  // If the frames of some show the collective, ranks without frames, or with those of another tool,
  // may be in it, too.
  const auto may_be_in_it = [&](const RankActivity* rank) {
    return rank->now.WaitsUnseen() && (stalled || HasRested(*rank).value_or(true)) &&
           !waiting.empty() && std::ranges::none_of(waiting, [&](const RankActivity* other) {
             return other->now.tool == rank->now.tool;
           });
  };
  const bool unclear = std::erase_if(others, may_be_in_it) > 0;
  if (unclear && others.empty()) return std::nullopt;
  if (std::ranges::any_of(others, [](const auto* rank) { return rank->now.MayBeAtWork(); })) {
    return OddAmongGpus(snapshot, ranks, stalled);
  }
  if (ranks.empty()) return std::nullopt;
  if (others.empty()) {
    if (WithoutSample(snapshot, ranks) > 0) return std::nullopt;
    if (!stalled && !std::ranges::all_of(waiting, WaitsStill)) return std::nullopt;
    const auto may_go_on = [&](const RankActivity* rank) {
      return MayGoOn(snapshot, *rank, stalled);
    };
    if (std::ranges::any_of(waiting, may_go_on)) return std::nullopt;
    if (auto cause = AwaitsOneOf(snapshot, waiting)) return cause;
    return DifferentCallsCause(snapshot, waiting);
  }
  if (waiting.empty()) {
    if (!stalled && !StandStill(others)) return std::nullopt;
    if (auto cause = AllWait(snapshot, others)) return cause;
    return OddOnes(snapshot, ranks, stalled);
  }
  if (!stalled && !Missing(waiting, others)) return std::nullopt;
  v1::Issue issue = NotEntered(snapshot, waiting, others, unclear);
  AllowForService(others, stalled, issue);
  return issue;
}

void AddActivities(const Activities& ranks, v1::Issue& issue) {
  std::vector<std::pair<const Activity*, std::vector<uint32_t>>> groups;
  for (const RankActivity& rank : ranks) {
    const auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return group.first->evidence == rank.now.evidence; });
    if (same == groups.end()) {
      groups.push_back({&rank.now, {rank.rank}});
    } else if (same->second.back() != rank.rank) {
      same->second.push_back(rank.rank);
    }
  }
  std::ranges::sort(groups, {}, [](const auto& group) {
    return std::pair(group.second.size(), group.second[0]);
  });
  if (groups.size() > kShownGroups) groups.resize(kShownGroups);
  for (const auto& [activity, whose] : groups) {
    issues::AddEvidence(issue, snapshot::RanksName(whose), activity->evidence, activity->source);
  }
}

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
                                 snapshot::RankName(snapshot, first->rank()) + " wrote an error " +
                                     Ago(snapshot, first->failure_ms()) +
                                     " and has not ended: " + base::Printable(first->failure()) +
                                     (running > 1 ? "; " + OthersWait(running - 1) : ""));
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
