// Whether a rank was at work between two looks: by the CPU time and the data of all its threads and
// processes, wherever its main thread was. Pure logic.
#pragma once

#include <string>

#include "why/activity.h"

namespace autodist::why {

// "its other processes use 1.9 cores", "410 kB/s of data move"; "": it has done next to nothing.
// `main_thread`: whether what that has used counts, as not where it waits busily for a GPU.
std::string WorkBetween(const Activity& earlier, const Activity& now, bool main_thread);

}  // namespace autodist::why
