// Hands a text to the program of a scheduler: a batch script to sbatch, a manifest to kubectl.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::transport {

// Runs the program on this machine with the text as its input; gives what it prints. Blocks until
// it has ended, or the limit has passed. kInvalidArgument: it has refused the text, with what it
// says of that; kNotFound: there is no such program.
Result<std::string> HandOver(const std::vector<std::string>& argv, const std::string& text,
                             std::chrono::seconds limit);

}  // namespace autodist::transport
