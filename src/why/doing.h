// Classifies what a process is doing, by its frames, their files, and the kernel's state. Pure
// logic.
#pragma once

#include <string>

#include "why/rank_processes.h"

namespace autodist::why {

enum class Doing {
  kUnknown,
  kCollective,  // waits for other ranks
  kDataLoader,
  kFile,    // opens, reads or writes a file or pipe
  kSocket,  // waits at a socket that belongs to no collective
  kSleep,
  kLock,     // waits for a lock that another thread holds
  kWait,     // waits for a thread, a process or a lock; the frames do not say which
  kStopped,  // by a signal, a debugger, or the freezer of the control group
  kDisk,     // uninterruptible sleep
  kCompile,
  kCheckpoint,
  kCompute,
};

// Sets `collective` to the one that it waits in; "": none, or its frames do not say which.
Doing DoingOf(const RankProcess& process, std::string& collective);
// By the kernel's state alone.
Doing ByKernel(const RankProcess& process);

// Stopped by a signal, held by a debugger, or frozen with its control group.
bool IsStopped(const RankProcess& process);
bool IsFrozen(const RankProcess& process);

}  // namespace autodist::why
