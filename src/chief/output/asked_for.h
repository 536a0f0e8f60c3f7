// What ranks write because autodist has asked them for something.
#pragma once

#include <string_view>

namespace autodist::chief {

// Whether all of it is what PyTorch writes when it is asked for a flight record
// (ProcessGroupNCCL.cpp, seen of 2.11): no sign of life, and nothing to show.
bool IsAskedFor(std::string_view output);

}  // namespace autodist::chief
