#include "why/straggler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/median.h"
#include "why/who.h"

namespace autodist::why {
namespace {

// Of the time: less is no matter, and may be what one rank does besides, as writing a log.
constexpr double kComputes = 0.2;
constexpr double kMore = 0.1;  // than the others
constexpr double kTimesMore = 1.25;

// Of its main thread, between the looks; nullopt: not known.
std::optional<double> CoresOf(const RankActivity& rank) {
  if (!rank.earlier || !rank.earlier->work || !rank.now.work) return std::nullopt;
  const Work& from = *rank.earlier->work;
  const Work& to = *rank.now.work;
  if (to.at_ms <= from.at_ms || to.main_thread < from.main_thread) return std::nullopt;
  return static_cast<double>(to.main_thread - from.main_thread) /
         static_cast<double>(to.at_ms - from.at_ms);
}

bool HasGpus(const v1::Board& board, const RankActivity& rank) {
  const v1::BoardRank* of = FindRank(board, rank.rank);
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

std::optional<v1::Trouble> StragglerCause(const v1::Board& board, const Activities& ranks) {
  if (ranks.size() < 2) return std::nullopt;
  std::vector<double> cores;
  for (const RankActivity& rank : ranks) {
    const auto one = CoresOf(rank);
    if (!one || rank.one_of_several || HasGpus(board, rank)) return std::nullopt;
    cores.push_back(*one);
  }
  const auto most = std::ranges::max_element(cores);
  const RankActivity& straggler = ranks[static_cast<size_t>(most - cores.begin())];
  const double most_cores = *most;
  cores.erase(most);
  const double others = base::Median(cores);
  const bool any_waits = std::ranges::any_of(
      ranks, [&](const RankActivity& rank) { return &rank != &straggler && IsFoundWaiting(rank); });
  const bool stands_out = most_cores >= std::max({kComputes, others + kMore, kTimesMore * others});
  if (!stands_out || !any_waits || straggler.now.doing == Doing::kCollective) return std::nullopt;
  v1::Trouble trouble;
  trouble.set_kind(v1::Trouble::KIND_SLOW);
  AddRank(board, straggler.rank, trouble);
  trouble.set_what(RankName(board, straggler.rank) +
                   " keeps the others waiting in each step: it computes " + Percent(most_cores) +
                   " of the time, the others " + Percent(others));
  AddEvidence(trouble, RankName(board, straggler.rank), straggler.now.evidence,
              straggler.now.source);
  return trouble;
}

}  // namespace autodist::why
