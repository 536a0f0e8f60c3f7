// Decides whether a rank was at work between two samples, by the CPU time and data of all its
// threads and processes, wherever its main thread was. Pure logic.
#pragma once

#include <string>

#include "why/activity.h"

namespace autodist::why {

// The parts of a rank's work that count.
enum class Counted {
  kAll,
  kNotMainThread,  // the main thread busy-waits for a GPU
  kOthers,         // only the other threads and processes
  kNoThreads,      // only the other processes and the data
};

// "its other processes use 1.9 cores", "410 kB/s of data move"; "": almost no work.
std::string WorkBetween(const Activity& earlier, const Activity& now, Counted counted);

// Files, pipes or TCP have moved more data than idle connections do.
bool MovesData(const Activity& earlier, const Activity& now);

}  // namespace autodist::why
