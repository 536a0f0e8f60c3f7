// Groups ranks that do the same, so that outliers are visible. Pure logic.
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
  // Only the first summary of a rank counts.
  void Add(uint32_t rank, const StackSummary& summary);
  void AddUnknown(uint32_t rank, const std::string& why);
  bool Has(uint32_t rank) const { return reported_.contains(rank); }

  // Sorted by information: if most ranks do the same, the others come first, smallest group first;
  // unknown ones come last. Compares only ranks that one tool has shown: frames of Python and
  // native ones of the same place differ.
  std::vector<v1::StackGroup> Groups() const;

 private:
  // What a rank does, and the tool that has shown it. The group has no ranks yet.
  struct Reported {
    v1::StackGroup group;
    std::string source;
  };
  std::map<uint32_t, Reported> reported_;
};

// One line per group: "7 ranks in all_reduce (…/distributed_c10d.py:2001), called by step
// (train.py:41): 0-1, 3-7".
std::string GroupsText(const google::protobuf::RepeatedPtrField<v1::StackGroup>& groups);

}  // namespace autodist::why
