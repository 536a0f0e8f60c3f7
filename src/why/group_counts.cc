#include "why/group_counts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/quantity.h"
#include "base/utf8.h"
#include "why/who.h"

namespace autodist::why {
namespace {

struct Entered {
  const RankActivity* rank = nullptr;
  const GroupCount* count = nullptr;
};

// By source and name.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<Entered>>;

// That have not moved since the earlier look.
Groups StandingGroups(const Activities& ranks, bool stands_still) {
  Groups groups;
  std::set<std::pair<std::string, std::string>> moving;
  for (const RankActivity& rank : ranks) {
    for (const GroupCount& count : rank.now.counts) {
      const std::pair key(count.source, count.group);
      groups[key].push_back({&rank, &count});
      const bool stands =
          rank.earlier ? std::ranges::count(rank.earlier->counts, count) > 0 : stands_still;
      if (!stands) moving.insert(key);
    }
  }
  std::erase_if(groups, [&](const auto& group) { return moving.contains(group.first); });
  return groups;
}

uint64_t MostEntered(const std::vector<Entered>& group) {
  return std::ranges::max_element(group, {}, [](const Entered& one) { return one.count->entered; })
      ->count->entered;
}

bool MayBeAtWork(const RankActivity* rank) {
  return rank->now.AtWork() || rank->now.doing == Doing::kUnknown;
}

// "rank 2 (host2) has entered 16 of the collectives of group default_pg, the 3 others 17"
v1::Trouble Behind(const v1::Board& board, const Ranks& behind, const std::vector<Entered>& group) {
  const std::set<const RankActivity*> missing(behind.begin(), behind.end());
  const uint64_t most = MostEntered(group);
  uint64_t least = most;
  size_t others = 0;
  for (const Entered& one : group) {
    if (missing.contains(one.rank)) least = std::min(least, one.count->entered);
    if (one.count->entered == most) ++others;
  }
  const std::string who = behind.size() == 1 ? NameOf(board, *behind[0]) + " has"
                                             : RanksName(Numbers(behind)) + " have";
  v1::Trouble trouble = StalledTrouble(
      board, behind,
      who + " entered " + base::Thousands(least) + " collectives of group " +
          base::Printable(group[0].count->group) + ", " + Others(others) + " " +
          base::Thousands(most) + "; " +
          (behind.size() == 1 ? "it " + behind[0]->now.words : WhatTheyDo(board, behind)));
  for (const Entered& one : group) {
    AddEvidence(trouble, RankName(board, one.rank->rank),
                base::Thousands(one.count->entered) + " entered in group " +
                    base::Printable(one.count->group),
                base::Printable(one.count->source));
  }
  return trouble;
}

// Of ranks that have entered as many, those whose last operation is not that of most.
std::optional<v1::Trouble> Differing(const v1::Board& board, const std::vector<Entered>& group) {
  std::map<std::string, Ranks> by_operation;
  for (const Entered& one : group) {
    if (one.count->entered != group[0].count->entered) return std::nullopt;
    if (one.count->what.empty()) return std::nullopt;
    by_operation[one.count->what].push_back(one.rank);
  }
  const auto most = std::ranges::max_element(
      by_operation, {}, [](const auto& operation) { return operation.second.size(); });
  if (by_operation.size() != 2 || 2 * most->second.size() <= group.size()) return std::nullopt;
  const auto& odd = most == by_operation.begin() ? *std::next(most) : *by_operation.begin();
  const std::string who = odd.second.size() == 1 ? NameOf(board, *odd.second[0]) + " has"
                                                 : RanksName(Numbers(odd.second)) + " have";
  v1::Trouble trouble =
      StalledTrouble(board, odd.second,
                     who + " entered " + base::Printable(odd.first) + " as collective " +
                         base::Thousands(group[0].count->entered) + " of group " +
                         base::Printable(group[0].count->group) + ", " +
                         Others(most->second.size()) + " " + base::Printable(most->first));
  AddEvidence(trouble, "group " + base::Printable(group[0].count->group),
              "ranks have entered different operations", base::Printable(group[0].count->source));
  return trouble;
}

}  // namespace

std::optional<v1::Trouble> BehindCause(const v1::Board& board, const Activities& ranks,
                                       bool stands_still) {
  const Groups groups = StandingGroups(ranks, stands_still);
  std::set<const RankActivity*> waiting;  // for another rank in any group
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
    if (behind.empty()) {
      if (auto cause = Differing(board, group)) return cause;
    } else if (std::ranges::none_of(behind, MayBeAtWork)) {
      return Behind(board, behind, group);
    }
  }
  return std::nullopt;
}

}  // namespace autodist::why
