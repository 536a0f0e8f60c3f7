// All dialects, and which of them go together.
#pragma once

#include <string>
#include <vector>

#include "dialect/dialect.h"

namespace autodist::dialect {

const std::vector<const Dialect*>& All();

// The dialects of these names, for a program of this kind. All that is wrong is told at once:
// unknown names, kinds that a framework does not have, dialects that contradict each other.
Result<std::vector<const Dialect*>> Choose(const std::vector<std::string>& names,
                                           v1::ProgramKind kind);

// "--per device", "--per node", "--per job".
const char* OptionOf(v1::ProgramKind kind);

}  // namespace autodist::dialect
