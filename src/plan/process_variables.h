// What a process finds besides the environment that all processes of its node have: who it is, as
// autodist tells every program, and as its dialects do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "dialect/dialect.h"

namespace autodist::plan {

using Dialects = std::vector<const dialect::Dialect*>;
// Which dialect has added which auxiliary process.
using OwnerOf = std::map<uint32_t, const dialect::Dialect*>;

// "dialect 'torch'"
std::string DialectCalled(const dialect::Dialect& dialect);

// Of all processes of a plan that is complete but for that. Refuses lists that would be too long to
// start any program with.
Status SetProcessVariables(const Dialects& dialects, const OwnerOf& owner, v1::LaunchPlan& plan);

}  // namespace autodist::plan
