// Passes a text to the program of a scheduler: a batch script to sbatch, a manifest to kubectl.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::transport {

// Runs the program on this machine with the text as its input; returns its output. Blocks until it
// has ended or the limit has passed. kInvalidArgument: it has rejected the text, with its message;
// kNotFound: the program does not exist.
Result<std::string> HandOver(const std::vector<std::string>& argv, const std::string& text,
                             std::chrono::seconds limit);

}  // namespace autodist::transport
