// Reads the number of epochs from a program's arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::progress {

// Recognizes "--epochs 3", "--max-epochs=3", "--trainer.max_epochs=3", "trainer.max_epochs=3"; the
// last one counts, as in most programs.
std::optional<uint64_t> EpochsIn(const std::vector<std::string>& arguments);

}  // namespace autodist::progress
