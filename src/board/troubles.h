// What is not well with a job.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"

namespace autodist::board {

// The first evidence of a rank whose steps are slow.
inline constexpr char kStepsPerSecond[] = "steps per second";

// Steps per second, in the median over the ranks that tell them; absent where none does.
std::optional<double> MedianRate(const v1::Board& board);

// Looked at again each time that the board has changed: remembers since when something is so. For
// one thread.
class TroubleWatch {
 public:
  // Worst first. Says nothing that the board has no evidence of.
  std::vector<v1::Trouble> Look(const v1::Board& board);

 private:
  std::map<std::string, int64_t> since_;  // by what it is about; since 1970, in milliseconds
};

}  // namespace autodist::board
