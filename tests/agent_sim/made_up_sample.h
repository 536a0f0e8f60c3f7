// Samples of a simulated node, as detailed as those of a node with GPUs.
#pragma once

#include <cstdint>
#include <set>

#include "autodist/v1/sample.pb.h"

namespace autodist::test {

// Differs for each `number`.
v1::NodeSample MadeUpSample(const std::set<uint32_t>& ranks, uint32_t number);

}  // namespace autodist::test
