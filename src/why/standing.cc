#include "why/standing.h"
#include "issues/issue.h"
#include "snapshot/lookup.h"

#include <algorithm>
#include <utility>

namespace autodist::why {
namespace {

// A thread that only waits still sleeps a few times, when a debugger releases it.
constexpr uint64_t kFewSwitches = 10;

}  // namespace

std::optional<bool> HasRested(const RankActivity& rank) {
  if (!rank.earlier || !rank.now.switches || !rank.earlier->switches) return std::nullopt;
  return *rank.now.switches - *rank.earlier->switches <= kFewSwitches;
}

bool SameTwice(const RankActivity* rank) {
  return rank->earlier && rank->earlier->doing == rank->now.doing &&
         rank->earlier->collective == rank->now.collective;
}

bool Stands(const RankActivity* rank) {
  return SameTwice(rank) && rank->earlier->words == rank->now.words &&
         HasRested(*rank).value_or(true);
}

std::vector<uint32_t> Numbers(const Ranks& ranks) {
  std::vector<uint32_t> numbers;
  for (const RankActivity* rank : ranks) {
    if (numbers.empty() || numbers.back() != rank->rank) numbers.push_back(rank->rank);
  }
  return numbers;
}

std::string NameOf(const v1::JobSnapshot& snapshot, const RankActivity& rank) {
  const std::string name = snapshot::RankName(snapshot, rank.rank);
  return rank.one_of_several && rank.now.pid != 0
             ? "process " + std::to_string(rank.now.pid) + " of " + name
             : name;
}

std::string Others(size_t number) {
  return number == 1 ? "the other rank" : "the " + std::to_string(number) + " others";
}

std::string WhatTheyDo(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  return NameOf(snapshot, *ranks.front()) + " " + ranks.front()->now.words;
}

v1::Issue StalledIssue(const v1::JobSnapshot& snapshot, const std::vector<uint32_t>& whose,
                       std::string what) {
  v1::Issue issue;
  issue.set_kind(v1::Issue::KIND_STALLED);
  for (const uint32_t rank : whose) issues::AddRank(snapshot, rank, issue);
  issue.set_what(std::move(what));
  return issue;
}

}  // namespace autodist::why
