// The environment variables that NCCL and Gloo read.
#pragma once

#include <string>
#include <vector>

namespace autodist::diagnosis {

// Of NCCL 2 and those that PyTorch adds under its prefix.
const std::vector<std::string>& CollectiveVariables();

// Whether something is known to read a variable of this name, which begins with NCCL_ or GLOO_.
bool IsCollectiveVariable(const std::string& name);

}  // namespace autodist::diagnosis
