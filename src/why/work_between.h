// Whether a rank was at work between two looks: by the CPU time and the data of all its threads and
// processes, wherever its main thread was. Pure logic.
#pragma once

#include <string>

#include "why/activity.h"

namespace autodist::why {

// What of a rank's work counts.
enum class Counted {
  kAll,
  kNotMainThread,  // which waits busily for a GPU
  kOthers,         // the other threads and processes alone
  kNoThreads,      // the other processes and the data alone
};

// "its other processes use 1.9 cores", "410 kB/s of data move"; "": it has done next to nothing.
std::string WorkBetween(const Activity& earlier, const Activity& now, Counted counted);

}  // namespace autodist::why
