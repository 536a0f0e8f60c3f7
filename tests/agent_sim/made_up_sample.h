// What a simulated node reports of itself: as much as a node with GPUs.
#pragma once

#include <cstdint>
#include <set>

#include "autodist/v1/sample.pb.h"

namespace autodist::test {

// Another one for each `number`.
v1::NodeSample MadeUpSample(const std::set<uint32_t>& ranks, uint32_t number);

}  // namespace autodist::test
