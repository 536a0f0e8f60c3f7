// An issue found by the checks, and helpers to describe it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::issues {

// The first evidence of slow steps of a rank, and of a job that has become slower.
inline constexpr char kStepsPerSecond[] = "steps per second";
inline constexpr char kStepTime[] = "time of a step";

struct Found {
  std::string key;  // identifies the issue over time
  v1::Issue issue;
  int64_t min_duration_ms = 0;  // before it is shown
  int64_t since_ms = 0;         // since 1970, if known from elsewhere; else 0
};
using AllFound = std::vector<Found>;

// "1,005": rounded; negative values become 0.
std::string Number(double value);
// "1.4".
std::string Decimal(double value);
// "1.9 cores".
std::string Cores(double cores);

void AddEvidence(v1::Issue& issue, const std::string& what, const std::string& value,
                 const std::string& source, bool against = false);
// Adds the rank and its node, without duplicates.
void AddRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue& issue);

// An issue of a node and all ranks on it; `what` follows the node's address.
v1::Issue OfNode(const v1::JobSnapshot& snapshot, int node, v1::Issue::Kind kind,
                 const std::string& what);
// An issue of a rank; `what` follows the rank's name.
v1::Issue OfRank(const v1::JobSnapshot& snapshot, uint32_t rank, v1::Issue::Kind kind,
                 const std::string& what);

// Add such an issue; the number of the node or rank is appended to `key`.
Found& AddOfNode(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot, int node,
                 v1::Issue::Kind kind, const std::string& what);
Found& AddOfRank(AllFound& found, const std::string& key, const v1::JobSnapshot& snapshot,
                 uint32_t rank, v1::Issue::Kind kind, const std::string& what);

}  // namespace autodist::issues
