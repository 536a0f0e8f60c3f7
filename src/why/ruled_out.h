// What was looked at and is well. Pure logic.
#pragma once

#include "autodist/v1/snapshot.pb.h"

namespace autodist::why {

// Adds the resources that are known of all nodes as evidence against. To be called where the checks
// of resources found nothing.
void AddRuledOut(const v1::JobSnapshot& now, v1::Issue& evidence);

}  // namespace autodist::why
