// What ranks did in two looks: whether they stand, and how they are named. Pure logic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "why/activity.h"

namespace autodist::why {

// Of a rank, or of a process of it where several take part in the job.
struct RankActivity {
  uint32_t rank = 0;
  bool one_of_several = false;
  Activity now;
  std::optional<Activity> earlier;  // some seconds before
};
// It has not run between the two looks; absent: that is not known.
std::optional<bool> HasRested(const RankActivity& rank);

using Activities = std::vector<RankActivity>;    // in order of the ranks
using Ranks = std::vector<const RankActivity*>;  // some of them

// The same in both looks; false: there was one look.
bool SameTwice(const RankActivity* rank);
// In the same place twice, without having run where that is known.
bool Stands(const RankActivity* rank);

// Each once.
std::vector<uint32_t> Numbers(const Ranks& ranks);
// "rank 2 (host2)", "process 4711 of rank 2 (host2)"
std::string NameOf(const v1::JobSnapshot& snapshot, const RankActivity& rank);
// "the other rank", "the 3 others"
std::string Others(size_t number);
// "rank 2 (host2) sleeps in …", or of several the first, after who they are.
std::string WhatTheyDo(const v1::JobSnapshot& snapshot, const Ranks& ranks);
v1::Issue StalledIssue(const v1::JobSnapshot& snapshot, const std::vector<uint32_t>& whose,
                       std::string what);

}  // namespace autodist::why
