// Compares two samples of ranks: whether they stand still, and how messages name them. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "why/activity.h"
#include "why/doing.h"

namespace autodist::why {

// A rank, or one process of a rank if several take part in the job.
struct RankActivity {
  uint32_t rank = 0;
  bool one_of_several = false;
  Activity now;
  std::optional<Activity> earlier;  // some seconds before
};
// It has not run between the two samples; absent: unknown.
std::optional<bool> HasRested(const RankActivity& rank);

using Activities = std::vector<RankActivity>;    // in order of the ranks
using Ranks = std::vector<const RankActivity*>;  // some of them
Ranks All(const Activities& ranks);
// Those that do this; if not `is`, those that do anything else.
Ranks Those(const Ranks& ranks, Doing doing, bool is = true);

// Counts running ranks without a sample: there are too many, or their node has not answered.
size_t WithoutSample(const v1::JobSnapshot& snapshot, const Activities& ranks);

// The activity is the same in both samples; false with one sample.
bool SameTwice(const RankActivity* rank);
// In the same place in both samples, and not known to have run.
bool Stands(const RankActivity* rank);
// Waits for the same call in both samples, in which it has not run, unless it polls for the others.
bool WaitsStill(const RankActivity* rank);

// Data may be on its way to it, or lost. Without a frame of a collective it may wait for its GPU,
// unless the job is certainly stalled.
bool MayGoOn(const v1::JobSnapshot& snapshot, const RankActivity& rank, bool stalled);

// They differ by no more than aligned frames do.
bool AreCloseDepths(const StackDepth& one, const StackDepth& other);
// Whether both may be depths of the same place, if their code is the same.
bool AreSamePlace(const StackDepth& one, const StackDepth& other);
// Its stack is of the same place in both samples; false: unknown, or it has frames.
bool RemainsInDepth(const RankActivity& rank);

// Frames of Python and native ones of the same place differ, so ranks are compared by their frames
// only if one tool has shown those of all. `ranks`: not empty.
bool AreComparable(const Ranks& ranks);

// The ranks' numbers without duplicates.
std::vector<uint32_t> Numbers(const Ranks& ranks);
// "rank 2 (host2)", "process 4711 of rank 2 (host2)"
std::string NameOf(const v1::JobSnapshot& snapshot, const RankActivity& rank);
// The same of one rank, "ranks 1-2" of several.
std::string NamesOf(const v1::JobSnapshot& snapshot, const Ranks& ranks);
// "the other rank", "the 3 others"
std::string Others(size_t number);
// "the other rank waits", "the 3 others wait"; of not `all`: "1 other waits", "3 others wait".
std::string OthersWait(size_t number, bool all = true);
// "rank 2 (host2) sleeps in …"; of several ranks, names all and shows what the first does.
std::string WhatTheyDo(const v1::JobSnapshot& snapshot, const Ranks& ranks);
v1::Issue StalledIssue(const v1::JobSnapshot& snapshot, const std::vector<uint32_t>& whose,
                       std::string what);
// If all of these ranks wait for a service, which may answer later, the issue becomes a warning,
// unless the job is certainly stalled.
void AllowForService(const Ranks& whose, bool stalled, v1::Issue& issue);

using Stacks = std::vector<v1::WholeStack>;

// Reads what ranks were doing from two samples of stacks that their agents sent.
// Sorted by rank, without auxiliary processes. Marks as at work every rank that made progress
// between the samples.
Activities ReadStacks(const v1::JobSnapshot& snapshot, const Stacks& now, const Stacks& earlier);

}  // namespace autodist::why
