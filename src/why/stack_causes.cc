#include "why/stack_causes.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "why/collectives.h"
#include "why/who.h"

namespace autodist::why {
namespace {

using Ranks = std::vector<const RankActivity*>;

// A thread that only waits goes to sleep a few times all the same: when a debugger lets go of it.
constexpr uint64_t kFewSwitches = 10;
constexpr size_t kShownGroups = 5;  // of ranks that are doing the same, as evidence

// Operations of two ranks: that others are elsewhere is no mistake.
bool IsOfTwo(const std::string& collective) {
  constexpr std::array<std::string_view, 6> kOfTwo = {
      "", "send", "receive", "send and receive", "MPI_Wait", "MPI_Waitall"};
  return std::ranges::find(kOfTwo, collective) != kOfTwo.end();
}

Ranks Those(const Activities& ranks, bool in_collective) {
  Ranks those;
  for (const RankActivity& rank : ranks) {
    if ((rank.now.doing == Doing::kCollective) == in_collective) those.push_back(&rank);
  }
  return those;
}

std::vector<uint32_t> Numbers(const Ranks& ranks) {
  std::vector<uint32_t> numbers;
  for (const RankActivity* rank : ranks) numbers.push_back(rank->rank);
  return numbers;
}

bool SameTwice(const RankActivity* rank) {
  return rank->earlier && rank->earlier->doing == rank->now.doing &&
         rank->earlier->collective == rank->now.collective;
}

// In the same place twice, without having run where that is known.
bool Stands(const RankActivity* rank) {
  return SameTwice(rank) && rank->earlier->words == rank->now.words &&
         HasRested(*rank).value_or(true);
}

// It does the same as before; what loads data for it has not run.
bool Remains(const RankActivity* rank) {
  return SameTwice(rank) &&
         (rank->now.doing != Doing::kDataLoader || HasRested(*rank).value_or(true));
}

// Where those that wait have not run between the looks, no collective has come to its end, and who
// is missing in it may well do something, if only look again and again for what does not come.
bool Missing(const Ranks& waiting, const Ranks& others) {
  const bool rested = std::ranges::any_of(
      waiting, [](const RankActivity* rank) { return HasRested(*rank).has_value(); });
  return std::ranges::all_of(waiting,
                             [](const RankActivity* rank) {
                               return SameTwice(rank) && HasRested(*rank).value_or(true);
                             }) &&
         std::ranges::all_of(others, rested ? Remains : Stands);
}

std::map<std::string, Ranks> ByCollective(const Ranks& ranks) {
  std::map<std::string, Ranks> groups;
  for (const RankActivity* rank : ranks) groups[rank->now.collective].push_back(rank);
  return groups;
}

// That most of the ranks are in.
std::string MostIn(const std::map<std::string, Ranks>& groups) {
  const auto most =
      std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
  return most == groups.end() ? "" : most->first;
}

std::string Others(size_t number) {
  return number == 1 ? "the other rank" : "the " + std::to_string(number) + " others";
}

// "rank 2 (host2) sleeps in …", or of several the first, after who they are.
std::string WhatTheyDo(const v1::Board& board, const Ranks& ranks) {
  return RankName(board, ranks.front()->rank) + " " + ranks.front()->now.words;
}

v1::Trouble Stalled(const v1::Board& board, const Ranks& whose, std::string what) {
  v1::Trouble trouble;
  trouble.set_kind(v1::Trouble::KIND_STALLED);
  for (const RankActivity* rank : whose) AddRank(board, rank->rank, trouble);
  trouble.set_what(std::move(what));
  return trouble;
}

v1::Trouble NotEntered(const v1::Board& board, const Ranks& waiting, const Ranks& missing) {
  const std::string collective = MostIn(ByCollective(waiting));
  const std::string where = collective.empty() ? "the collective" : WithThe(collective);
  const std::string others = Others(waiting.size()) + (waiting.size() == 1 ? " waits" : " wait");
  const std::string entered = " not entered " + where + " in which " + others + "; ";
  if (missing.size() == 1) {
    return Stalled(
        board, missing,
        RankName(board, missing[0]->rank) + " has" + entered + "it " + missing[0]->now.words);
  }
  return Stalled(board, missing,
                 RanksName(Numbers(missing)) + " have" + entered + WhatTheyDo(board, missing));
}

std::optional<v1::Trouble> Mismatch(const v1::Board& board, const Ranks& waiting) {
  std::map<std::string, Ranks> groups = ByCollective(waiting);
  const bool all_known =
      std::ranges::none_of(groups, [](const auto& group) { return IsOfTwo(group.first); });
  if (groups.size() < 2 || !all_known) return std::nullopt;
  const std::string most = MostIn(groups);
  const size_t others = groups[most].size();
  groups.erase(most);
  Ranks odd;
  for (const auto& [collective, ranks] : groups) odd.insert(odd.end(), ranks.begin(), ranks.end());
  const std::string in = odd[0]->now.collective;
  std::string what =
      odd.size() == 1 ? RankName(board, odd[0]->rank) + " is" : RanksName(Numbers(odd)) + " are";
  what += " in " + (groups.size() > 1 ? "other collectives" : WithArticle(in)) + ", while " +
          Others(others) + (others == 1 ? " is in " : " are in ") + WithArticle(most);
  if (most == "barrier")
    what += ", which " + std::string(odd.size() == 1 ? "it has" : "they have") + " missed";
  return Stalled(board, odd, what);
}

// All wait for the same, which is none of them.
std::optional<v1::Trouble> AllWait(const v1::Board& board, const Ranks& ranks) {
  constexpr std::array<Doing, 4> kForWhatNeverComes = {Doing::kLock, Doing::kDataLoader,
                                                       Doing::kFile, Doing::kDisk};
  const Doing doing = ranks[0]->now.doing;
  const bool same = std::ranges::all_of(
      ranks, [doing](const RankActivity* rank) { return rank->now.doing == doing; });
  if (!same || std::ranges::find(kForWhatNeverComes, doing) == kForWhatNeverComes.end()) {
    return std::nullopt;
  }
  const std::string who = ranks.size() == 1 ? "" : "none of the ranks goes on: ";
  return Stalled(board, ranks, who + WhatTheyDo(board, ranks));
}

}  // namespace

std::optional<bool> HasRested(const RankActivity& rank) {
  if (!rank.earlier || !rank.now.switches || !rank.earlier->switches) return std::nullopt;
  return *rank.now.switches - *rank.earlier->switches <= kFewSwitches;
}

bool AllStand(const Activities& ranks) {
  return std::ranges::all_of(ranks, [](const RankActivity& rank) { return Stands(&rank); });
}

size_t Waiting(const Activities& ranks) { return Those(ranks, true).size(); }

std::optional<v1::Trouble> StoppedCause(const v1::Board& board, const Activities& ranks) {
  Ranks stopped;
  for (const RankActivity& rank : ranks) {
    if (rank.now.doing == Doing::kStopped) stopped.push_back(&rank);
  }
  if (stopped.empty()) return std::nullopt;
  const size_t waiting = Waiting(ranks);
  std::string what = stopped.size() == 1
                         ? WhatTheyDo(board, stopped)
                         : RanksName(Numbers(stopped)) + " are stopped by a signal (state T)";
  if (waiting > 0) {
    const std::string collective = MostIn(ByCollective(Those(ranks, true)));
    what += "; " + Others(waiting) + (waiting == 1 ? " waits" : " wait") +
            (collective.empty() ? " for it" : " in " + WithArticle(collective));
  }
  return Stalled(board, stopped, what);
}

std::optional<v1::Trouble> StandstillCause(const v1::Board& board, const Activities& ranks,
                                           bool stands_still) {
  const Ranks waiting = Those(ranks, true);
  const Ranks others = Those(ranks, false);
  const bool at_work = std::ranges::any_of(others, [](const RankActivity* rank) {
    return rank->now.AtWork() || rank->now.doing == Doing::kUnknown;
  });
  if (at_work || ranks.empty()) return std::nullopt;
  if (others.empty()) {
    if (!stands_still && !std::ranges::all_of(waiting, Stands)) return std::nullopt;
    return Mismatch(board, waiting);
  }
  if (waiting.empty()) {
    if (!stands_still && !std::ranges::all_of(others, Stands)) return std::nullopt;
    return AllWait(board, others);
  }
  if (waiting.size() < others.size()) return std::nullopt;
  if (!stands_still && !Missing(waiting, others)) return std::nullopt;
  return NotEntered(board, waiting, others);
}

void AddActivities(const Activities& ranks, v1::Trouble& trouble) {
  std::vector<std::pair<const Activity*, std::vector<uint32_t>>> groups;
  for (const RankActivity& rank : ranks) {
    const auto same = std::ranges::find_if(
        groups, [&](const auto& group) { return group.first->evidence == rank.now.evidence; });
    if (same == groups.end()) {
      groups.push_back({&rank.now, {rank.rank}});
    } else {
      same->second.push_back(rank.rank);
    }
  }
  std::ranges::sort(groups, {}, [](const auto& group) {
    return std::pair(group.second.size(), group.second[0]);
  });
  if (groups.size() > kShownGroups) groups.resize(kShownGroups);
  for (const auto& [activity, whose] : groups) {
    AddEvidence(trouble, RanksName(whose), activity->evidence, activity->source);
  }
}

}  // namespace autodist::why
