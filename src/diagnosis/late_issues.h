// Adds issues to a diagnosis that is complete.
#pragma once

#include <string>

#include "autodist/v1/diagnosis.pb.h"

namespace autodist::diagnosis {

// Adds an issue of one node, and sets the result of this check. Errors stay first.
void AddIssue(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what,
              const std::string& remedy, v1::Diagnosis& diagnosis);

}  // namespace autodist::diagnosis
