#include "why/standing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/home_folder.h"
#include "base/quantity.h"
#include "issues/issue.h"
#include "issues/thresholds.h"
#include "snapshot/lookup.h"
#include "why/stack_causes.h"
#include "why/work_between.h"

namespace autodist::why {
namespace {

// A thread that only waits still sleeps a few times, when a debugger releases it.
constexpr uint64_t kSwitchesByDebugger = 10;

// Shows in `sample` what another sample of the rank shows. What the kernel counts stays, because
// both samples are compared by it.
void ShowAs(Activity shown, Activity& sample) {
  shown.switches = sample.switches;
  shown.work = sample.work;
  shown.sent_again = std::move(sample.sent_again);
  shown.connecting = std::move(sample.connecting);
  shown.node = std::move(sample.node);
  shown.counts = std::move(sample.counts);
  sample = std::move(shown);
}

// Takes the activity of the sample that shows it if the rank has not run in between: on a busy
// machine, py-spy may fail in one of them.
void MakeUp(RankActivity& rank) {
  if (!HasRested(rank).value_or(false)) return;
  const auto blind = [](const Activity& one) {
    return one.doing == Doing::kUnknown || one.MayBeInCollective();
  };
  const bool now = blind(rank.now);
  if (now == blind(*rank.earlier)) return;
  Activity& missed = now ? rank.now : *rank.earlier;
  const Activity& shown = now ? *rank.earlier : rank.now;
  if (shown.has_frames) ShowAs(shown, missed);
}

// Python joins its threads at exit, and Gloo threads whose peers have gone spin forever.
Counted CountedOf(const RankActivity& rank, bool most_have_ended) {
  if (rank.now.doing == Doing::kCollective) return Counted::kOthers;
  return most_have_ended && rank.now.is_at_end ? Counted::kNoThreads : Counted::kAll;
}

// If the rank is at work, its main thread may wait for whatever it likes.
void NoteWork(RankActivity& rank, bool most_have_ended) {
  if (rank.now.doing == Doing::kStopped || !rank.earlier || rank.now.AtWork()) return;
  const bool awaits_others = rank.now.doing == Doing::kCollective;
  // No operation has a name: the other threads may compute the values to be reduced.
  if (awaits_others && !(rank.now.collective.empty() && rank.now.source.starts_with("py-spy"))) {
    return;
  }
  const std::string work = WorkBetween(*rank.earlier, rank.now, CountedOf(rank, most_have_ended));
  if (work.empty()) return;
  if (awaits_others) rank.now.doing = Doing::kCompute;
  rank.now.gets_on = true;
  if (rank.now.saves) {
    rank.now.words =
        "writes a checkpoint" + (rank.now.place.empty() ? "" : " in " + rank.now.place);
  }
  rank.now.words += ", while " + work;
}

const Activity* EarlierOf(const Activity& now, const std::vector<Activity>& earlier) {
  if (earlier.size() == 1 && earlier[0].pid == 0) return &earlier[0];
  const auto found = std::ranges::find(earlier, now.pid, &Activity::pid);
  return found == earlier.end() ? nullptr : &*found;
}

}  // namespace

Ranks All(const Activities& ranks) {
  Ranks all;
  for (const RankActivity& rank : ranks) all.push_back(&rank);
  return all;
}

Ranks Those(const Ranks& ranks, Doing doing, bool is) {
  Ranks those;
  std::ranges::copy_if(ranks, std::back_inserter(those),
                       [&](const RankActivity* rank) { return (rank->now.doing == doing) == is; });
  return those;
}

std::optional<bool> HasRested(const RankActivity& rank) {
  if (!rank.earlier || !rank.now.switches || !rank.earlier->switches) return std::nullopt;
  const bool debugged = rank.now.has_frames || rank.earlier->has_frames;
  return *rank.now.switches - *rank.earlier->switches <= (debugged ? kSwitchesByDebugger : 0);
}

size_t WithoutSample(const v1::JobSnapshot& snapshot, const Activities& ranks) {
  const auto running =
      static_cast<size_t>(std::ranges::count_if(snapshot.ranks(), [](const v1::RankSnapshot& rank) {
        return rank.state() == v1::RANK_STATE_RUNNING && !rank.auxiliary();
      }));
  size_t reported = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (i == 0 || ranks[i].rank != ranks[i - 1].rank) ++reported;
  }
  return running > reported ? running - reported : 0;
}

bool SameTwice(const RankActivity* rank) {
  return rank->earlier && rank->earlier->doing == rank->now.doing &&
         rank->earlier->collective == rank->now.collective;
}

bool WaitsStill(const RankActivity* rank) {
  return SameTwice(rank) && (rank->now.polls || HasRested(*rank).value_or(true));
}

bool Stands(const RankActivity* rank) {
  return SameTwice(rank) && rank->earlier->words == rank->now.words &&
         HasRested(*rank).value_or(true);
}

bool MayGoOn(const v1::JobSnapshot& snapshot, const RankActivity& rank, bool stalled) {
  const bool loses = std::ranges::any_of(rank.now.sent_again, [](const SentAgain& sent) {
    return sent.unanswered >= issues::kUnansweredSegments;
  });
  if (loses || (rank.earlier && MovesData(*rank.earlier, rank.now))) return true;
  const v1::RankSnapshot* of = snapshot::FindRank(snapshot, rank.rank);
  return !stalled && rank.now.collective.empty() && of && of->gpus_size() > 0;
}

bool AreCloseDepths(const StackDepth& one, const StackDepth& other) {
  constexpr uint64_t kAlignment = 64;  // of frames with vectors, the largest
  return std::max(one.bytes, other.bytes) - std::min(one.bytes, other.bytes) < kAlignment;
}

bool AreSamePlace(const StackDepth& one, const StackDepth& other) {
  return one.at == other.at && AreCloseDepths(one, other);
}

bool RemainsInDepth(const RankActivity& rank) {
  return rank.earlier && rank.earlier->depth && rank.now.depth &&
         AreSamePlace(*rank.earlier->depth, *rank.now.depth);
}

bool AreComparable(const Ranks& ranks) {
  return std::ranges::all_of(
      ranks, [&](const RankActivity* rank) { return rank->now.tool == ranks[0]->now.tool; });
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

std::string NamesOf(const v1::JobSnapshot& snapshot, const Ranks& ranks) {
  return ranks.size() == 1 ? NameOf(snapshot, *ranks[0]) : snapshot::RanksName(Numbers(ranks));
}

std::string Others(size_t number) {
  return number == 1 ? "the other rank" : "the " + std::to_string(number) + " others";
}

std::string OthersWait(size_t number, bool all) {
  return (all ? Others(number) : base::Count(number, "other")) + (number == 1 ? " waits" : " wait");
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

void AllowForService(const Ranks& whose, bool stalled, v1::Issue& issue) {
  const bool may_end = !stalled && std::ranges::all_of(whose, [](const RankActivity* rank) {
    return rank->now.awaits_service;
  });
  if (may_end) issue.set_kind(v1::Issue::KIND_WARNING);
}

Activities ReadStacks(const v1::JobSnapshot& snapshot, const Stacks& now_stacks,
                      const Stacks& earlier_stacks) {
  const std::string folder = base::ExpandHome(snapshot.job().working_directory());
  const bool most_have_ended = MostHaveEnded(snapshot);
  Activities activities;
  for (const v1::WholeStack& stack : now_stacks) {
    const v1::RankSnapshot* rank = snapshot::FindRank(snapshot, stack.rank());
    if (rank && rank->auxiliary()) continue;
    const auto text = std::ranges::find(earlier_stacks, stack.rank(), &v1::WholeStack::rank);
    std::vector<Activity> earlier;
    if (text != earlier_stacks.end()) earlier = ActivitiesOf(text->text(), folder);
    std::vector<Activity> now = ActivitiesOf(stack.text(), folder);
    for (Activity& activity : now) {
      RankActivity& one = activities.emplace_back();
      one.rank = stack.rank();
      one.one_of_several = now.size() > 1;
      one.now = std::move(activity);
      const Activity* before = EarlierOf(one.now, earlier);
      if (!before) continue;
      one.earlier = *before;
      // The second look at a job that makes progress asks no program.
      if (one.now.unasked && one.earlier->has_frames) {
        ShowAs(*one.earlier, one.now);
      } else {
        MakeUp(one);
      }
      NoteWork(one, most_have_ended);
    }
  }
  std::ranges::stable_sort(activities, {}, &RankActivity::rank);
  return activities;
}

}  // namespace autodist::why
