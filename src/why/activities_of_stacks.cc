#include "why/activities_of_stacks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/home_folder.h"
#include "snapshot/lookup.h"
#include "why/ended_causes.h"
#include "why/work_between.h"

namespace autodist::why {
namespace {

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
  missed = now ? *rank.earlier : rank.now;
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
  rank.now.words += ", while " + work;
}

const Activity* EarlierOf(const Activity& now, const std::vector<Activity>& earlier) {
  if (earlier.size() == 1 && earlier[0].pid == 0) return &earlier[0];
  const auto found = std::ranges::find(earlier, now.pid, &Activity::pid);
  return found == earlier.end() ? nullptr : &*found;
}

}  // namespace

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
      MakeUp(one);
      NoteWork(one, most_have_ended);
    }
  }
  std::ranges::stable_sort(activities, {}, &RankActivity::rank);
  return activities;
}

}  // namespace autodist::why
