// Whom the other ranks wait for in each step of a job that goes on. Pure logic.
#pragma once

#include <optional>

#include "autodist/v1/snapshot.pb.h"
#include "why/standing.h"

namespace autodist::why {

// By what the main threads have computed between two looks. Ranks that take the same steps need the
// same for it, so one that needs more is waited for, however busy machines are.
// nullopt: nobody stands out, or it cannot be told, as of ranks with GPUs, which are what computes.
std::optional<v1::Issue> StragglerCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

}  // namespace autodist::why
