#include "why/group_counts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/ranges.h"
#include "base/utf8.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"

namespace autodist::why {
namespace {

constexpr uint64_t kStoodMs = 3'000;  // without another collective

struct Entered {
  const RankActivity* rank = nullptr;
  const GroupCount* count = nullptr;
};

// By source and name. PyTorch's flight records come first: they name groups and calls as programs
// do.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<Entered>, std::greater<>>;

bool HasStood(const RankActivity& rank, const GroupCount& count, bool stalled) {
  if (count.last_ago_ms) return *count.last_ago_ms >= kStoodMs;
  return rank.earlier ? std::ranges::count(rank.earlier->counts, count) > 0 : stalled;
}

// Returns the groups whose counts have not changed since the earlier sample, or for as long.
Groups StandingGroups(const Activities& ranks, bool stalled) {
  Groups groups;
  std::set<std::pair<std::string, std::string>> moving;
  for (const RankActivity& rank : ranks) {
    for (const GroupCount& count : rank.now.counts) {
      const std::pair key(count.source, count.group);
      groups[key].push_back({&rank, &count});
      if (!HasStood(rank, count, stalled)) moving.insert(key);
    }
  }
  std::erase_if(groups, [&](const auto& group) { return moving.contains(group.first); });
  return groups;
}

uint64_t MostEntered(const std::vector<Entered>& group) {
  return std::ranges::max_element(group, {}, [](const Entered& one) { return one.count->entered; })
      ->count->entered;
}

// "rank 2 (host2) has"
std::string WhoHas(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  return ranks.size() == 1 ? NameOf(snapshot, *ranks[0]) + " has"
                           : snapshot::RanksName(Numbers(ranks)) + " have";
}

// "rank 2 (host2) has entered 16 of the collectives of group default_pg, the 3 others 17"
v1::Issue Behind(const v1::JobSnapshot& snapshot, const Ranks& behind,
                 const std::vector<Entered>& group) {
  const std::set<const RankActivity*> missing(behind.begin(), behind.end());
  const uint64_t most = MostEntered(group);
  uint64_t least = most;
  size_t others = 0;
  for (const Entered& one : group) {
    if (missing.contains(one.rank)) least = std::min(least, one.count->entered);
    if (one.count->entered == most) ++others;
  }
  v1::Issue issue = StalledIssue(
      snapshot, Numbers(behind),
      WhoHas(snapshot, behind) + " entered " + base::Thousands(least) + " collectives of group " +
          base::Printable(group[0].count->group) + ", " + Others(others) + " " +
          base::Thousands(most) + "; " +
          (behind.size() == 1 ? "it " + behind[0]->now.words : WhatTheyDo(snapshot, behind)));
  for (const Entered& one : group) {
    issues::AddEvidence(issue, snapshot::RankName(snapshot, one.rank->rank),
                        base::Thousands(one.count->entered) + " entered in group " +
                            base::Printable(one.count->group),
                        base::Printable(one.count->source));
  }
  return issue;
}

using ByOperation = std::map<std::string, Ranks>;

// The nth operation of each rank; all ranks must have recorded it.
ByOperation Nth(const std::vector<Entered>& group, uint64_t n) {
  ByOperation ranks;
  for (const Entered& one : group) {
    ranks[one.count->what[one.count->entered - n]].push_back(one.rank);
  }
  return ranks;
}

// "rank 3 (host4) has entered all_gather as collective 17 of group default_pg, the 3 others
// all_reduce"
v1::Issue Differ(const v1::JobSnapshot& snapshot, const GroupCount& count,
                 const ByOperation& operations, uint64_t n) {
  // NCCL counts each kind of operation, and does not record the last one.
  const std::string as = (count.source == "NCCL" ? " among " + base::Thousands(n) + " collectives"
                                                 : " as collective " + base::Thousands(n)) +
                         " of group " + base::Printable(count.group);
  const size_t those = operations.begin()->second.size();
  const size_t others = operations.rbegin()->second.size();
  if (operations.size() > 2 || those == others) {
    Ranks all;
    std::string names;
    for (const auto& [operation, ranks] : operations) {
      all.insert(all.end(), ranks.begin(), ranks.end());
      names += (names.empty() ? "" : ", ") + base::Printable(operation);
    }
    std::ranges::sort(all, {}, &RankActivity::rank);
    return StalledIssue(snapshot, Numbers(all),
                        snapshot::RanksName(Numbers(all)) + " have entered different operations" +
                            as + ": " + names);
  }
  const bool is_one = those < others;
  const auto& [what, odd] = is_one ? *operations.begin() : *operations.rbegin();
  const auto& [usual, most] = is_one ? *operations.rbegin() : *operations.begin();
  return StalledIssue(snapshot, Numbers(odd),
                      WhoHas(snapshot, odd) + " entered " + base::Printable(what) + as + ", " +
                          Others(most.size()) + " " + base::Printable(usual));
}

// Finds the first operation in which ranks differ; they may continue for a while with wrong values.
std::optional<v1::Issue> Differing(const v1::JobSnapshot& snapshot,
                                   const std::vector<Entered>& group) {
  uint64_t first = 1;
  uint64_t last = MostEntered(group);
  for (const Entered& one : group) {
    const GroupCount& count = *one.count;
    if (count.what.empty()) return std::nullopt;
    if (count.what.size() <= count.entered) {
      first = std::max(first, count.entered - count.what.size() + 1);
    }
    last = std::min(last, count.entered);
  }
  for (uint64_t n = first; n <= last; ++n) {
    const ByOperation operations = Nth(group, n);
    if (operations.size() < 2) continue;
    v1::Issue issue = Differ(snapshot, *group[0].count, operations, n);
    issues::AddEvidence(issue, "group " + base::Printable(group[0].count->group),
                        "ranks have entered different operations",
                        base::Printable(group[0].count->source));
    return issue;
  }
  return std::nullopt;
}

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
    return activity.doing == Doing::kCollective || activity.doing == Doing::kSocket ||
           activity.MayBeInCollective();
  };
  return waits(rank.now) || (rank.earlier && waits(*rank.earlier));
}

// By the agents' sample, which is of an earlier time than the looks.
bool HasUsedMore(const v1::JobSnapshot& before, uint32_t rank) {
  std::vector<double> others;
  double own = 0;
  for (const v1::RankSnapshot& one : before.ranks()) {
    if (one.auxiliary()) continue;
    if (!one.sample().has_cpu()) return false;
    if (one.rank() == rank) {
      own = one.sample().cpu();
    } else {
      others.push_back(one.sample().cpu());
    }
  }
  return !others.empty() && own >= base::Median(others) + issues::kStragglerMoreCores;
}

std::string Percent(double cores) { return std::to_string(std::lround(cores * 100)) + " %"; }

}  // namespace

std::optional<v1::Issue> BehindCause(const v1::JobSnapshot& snapshot, const Activities& ranks,
                                     bool stalled) {
  const Groups groups = StandingGroups(ranks, stalled);
  for (const auto& [name, group] : groups) {
    if (auto cause = Differing(snapshot, group)) return cause;
  }
  std::set<const RankActivity*> waiting;  // for another rank, in any group
  for (const auto& [name, group] : groups) {
    const uint64_t most = MostEntered(group);
    const bool one_is_behind = std::ranges::any_of(
        group, [most](const Entered& one) { return one.count->entered < most; });
    if (!one_is_behind) continue;
    for (const Entered& one : group) {
      if (one.count->entered == most) waiting.insert(one.rank);
    }
  }
  for (const auto& [name, group] : groups) {
    const uint64_t most = MostEntered(group);
    Ranks behind;
    for (const Entered& one : group) {
      const bool is_behind = one.count->entered < most;
      if (is_behind && !waiting.contains(one.rank)) behind.push_back(one.rank);
    }
    if (behind.empty()) continue;
    if (stalled ||
        std::ranges::none_of(behind, [](const auto* rank) { return rank->now.MayBeAtWork(); })) {
      return Behind(snapshot, behind, group);
    }
  }
  return std::nullopt;
}

std::optional<v1::Issue> StragglerCause(const v1::JobSnapshot& snapshot,
                                        const v1::JobSnapshot& before, const Activities& ranks) {
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
  size_t waiting = 0;
  bool shown = false;  // by frames; without, a rank may also be found at a lock or a file
  for (const RankActivity& rank : ranks) {
    if (&rank == &straggler || !IsFoundWaiting(rank)) continue;
    ++waiting;
    shown |= rank.now.has_frames || rank.earlier->has_frames;
  }
  const bool others_wait = shown || 2 * waiting > cores.size();
  const bool stands_out =
      most_cores >= std::max({issues::kStragglerCores, others + issues::kStragglerMoreCores,
                              issues::kStragglerTimes * others});
  // gdb stops the ranks at different times, so that it finds every rank waiting.
  const auto waits_itself = [](const Activity& one) {
    return one.doing == Doing::kCollective && one.tool != "gdb";
  };
  const bool waits = waits_itself(straggler.now) || waits_itself(*straggler.earlier);
  if (!stands_out || !others_wait || waits || !HasUsedMore(before, straggler.rank)) {
    return std::nullopt;
  }
  const std::string the_others = cores.size() == 1 ? "the other rank" : "the others";
  v1::Issue issue;
  issue.set_kind(v1::Issue::KIND_SLOW);
  issues::AddRank(snapshot, straggler.rank, issue);
  issue.set_what(snapshot::RankName(snapshot, straggler.rank) + " keeps " + the_others +
                 " waiting in each step: it computes " + Percent(most_cores) + " of the time, " +
                 the_others + " " + Percent(others));
  issues::AddEvidence(issue, snapshot::RankName(snapshot, straggler.rank), straggler.now.evidence,
                      straggler.now.source);
  return issue;
}

}  // namespace autodist::why
