// Lists what was checked and is in order. Pure logic.
#pragma once

#include "autodist/v1/snapshot.pb.h"

namespace autodist::why {

// Adds the resources that are known of all nodes as counter-evidence. Call it only if the checks of
// resources found no issue.
void AddRuledOut(const v1::JobSnapshot& now, v1::Issue& evidence);

}  // namespace autodist::why
