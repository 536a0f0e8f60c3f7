// Between which machines what is sent gets lost, by what their ranks had to send again. Pure logic.
#pragma once

#include <optional>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"
#include "why/stack_causes.h"

namespace autodist::why {

// By the difference of two looks. Absent: nowhere, or there was one look.
std::optional<v1::Issue> SentAgainCause(const v1::JobSnapshot& snapshot, const Activities& ranks);

// So much was sent again so far that another look is worth its while.
bool MuchIsSentAgain(const std::vector<v1::WholeStack>& stacks);

}  // namespace autodist::why
