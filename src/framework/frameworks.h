// All frameworks, and which of them go together.
#pragma once

#include <string>
#include <vector>

#include "framework/framework.h"

namespace autodist::framework {

const std::vector<const Framework*>& All();

// The frameworks of these names, for a program of this kind. All that is wrong is told at once:
// unknown names, kinds that a framework does not have, frameworks that contradict each other.
Result<std::vector<const Framework*>> Choose(const std::vector<std::string>& names,
                                             v1::ProgramKind kind);

// "--per device", "--per node", "--per job".
const char* OptionOf(v1::ProgramKind kind);

}  // namespace autodist::framework
