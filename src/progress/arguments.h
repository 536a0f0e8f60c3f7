// What a program's arguments say of its training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace autodist::progress {

// How many epochs there will be: "--epochs 3", "--max-epochs=3", "--trainer.max_epochs=3",
// "trainer.max_epochs=3"; the last one counts, as it does for programs.
std::optional<uint64_t> EpochsSaid(const std::vector<std::string>& arguments);

}  // namespace autodist::progress
