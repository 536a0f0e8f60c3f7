// The ranks that are doing the same, together: the one that is somewhere else is seen at once. Pure
// logic.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "why/stack_summary.h"

namespace autodist::why {

class StackGroups {
 public:
  // Each rank once; what is told of it later counts for nothing.
  void Add(uint32_t rank, const StackSummary& summary);
  void AddUnknown(uint32_t rank, const std::string& why);
  bool Has(uint32_t rank) const { return reported_.contains(rank); }

  // Most telling first: where most ranks are doing the same, those that are not, the fewest first;
  // last those of which nothing is known.
  std::vector<v1::StackGroup> Groups() const;

 private:
  std::map<uint32_t, v1::StackGroup> reported_;  // without the ranks
};

// A line for each: "7 ranks in all_reduce (…/distributed_c10d.py:2001), called by step
// (train.py:41): 0-1, 3-7".
std::string GroupsText(const google::protobuf::RepeatedPtrField<v1::StackGroup>& groups);

}  // namespace autodist::why
