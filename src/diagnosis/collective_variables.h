// Environment variables of NCCL and Gloo.
#pragma once

#include <string>
#include <vector>

namespace autodist::diagnosis {

// Those of NCCL 2, and those that PyTorch adds with the same prefix.
const std::vector<std::string>& CollectiveVariables();

// Whether any known software reads this variable, whose name begins with NCCL_ or GLOO_.
bool IsCollectiveVariable(const std::string& name);

}  // namespace autodist::diagnosis
