// Rewords a hint that names keys of the spec for a job that has no spec.
#pragma once

#include <string>

namespace autodist::base {

// Removes the alternatives that only a spec offers. If nothing else helps, the hint says how to
// write a spec. Pure logic.
std::string HintWithoutSpec(const std::string& hint);

}  // namespace autodist::base
