// What the checks of this folder find, and helpers to say it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::issues {

// The first evidence of a rank whose steps are slow, and of a job that is slower than it was.
inline constexpr char kStepsPerSecond[] = "steps per second";
inline constexpr char kStepTime[] = "time of a step";

struct Found {
  std::string key;  // the same for as long as it is the same issue
  v1::Issue issue;
  int64_t min_duration_ms = 0;  // before it is shown
  int64_t since_ms = 0;         // since 1970, where that is known otherwise; else 0
};
using AllFound = std::vector<Found>;

// "1,005": rounded, and nothing below 0.
std::string Number(double value);
// "1.4".
std::string Decimal(double value);
// "1.9 cores".
std::string Cores(double cores);

void AddEvidence(v1::Issue& issue, const std::string& what, const std::string& value,
                 const std::string& source, bool against = false);
// The rank and its node, each once.
void AddRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue& issue);

// Of a node and all of its ranks; `what` follows its address.
v1::Issue OfNode(const v1::JobSnapshot& snapshot, int node, v1::Issue::Kind kind,
                 const std::string& what);
// Of a rank; `what` follows its name.
v1::Issue OfRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue::Kind kind,
                 const std::string& what);

// Adds such an issue; `key` is followed by the number of the node or rank.
Found& AddOfNode(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot, int node,
                 v1::Issue::Kind kind, const std::string& what);
Found& AddOfRank(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot,
                 uint32_t rank, v1::Issue::Kind kind, const std::string& what);

}  // namespace autodist::issues
