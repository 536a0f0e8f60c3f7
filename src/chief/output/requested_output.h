// Recognizes output that ranks write because of a request of autodist.
#pragma once

#include <string_view>

namespace autodist::chief {

// Returns whether all of it is what PyTorch writes when a flight record is requested
// (ProcessGroupNCCL.cpp, seen with 2.11): it is no sign of life, and not shown.
bool IsRequestedOutput(std::string_view output);

}  // namespace autodist::chief
