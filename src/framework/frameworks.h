// Lists all frameworks, and checks which can be combined.
#pragma once

#include <string>
#include <vector>

#include "framework/framework.h"

namespace autodist::framework {

const std::vector<const Framework*>& All();

// Returns the frameworks with these names, for a program of this kind. An error lists everything
// that is wrong: unknown names, unsupported kinds, and frameworks that exclude each other.
Result<std::vector<const Framework*>> Choose(const std::vector<std::string>& names,
                                             v1::ProgramKind kind);

// "--per device", "--per node", "--per job".
const char* OptionOf(v1::ProgramKind kind);

}  // namespace autodist::framework
