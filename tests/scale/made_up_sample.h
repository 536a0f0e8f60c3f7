// How a simulated node says that it is: as much as one with GPUs has to tell.
#pragma once

#include <cstdint>
#include <set>

#include "autodist/v1/sample.pb.h"

namespace autodist::scale {

// Another one for each `number`.
v1::NodeSample MadeUpSample(const std::set<uint32_t>& ranks, uint32_t number);

}  // namespace autodist::scale
