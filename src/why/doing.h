// What a process is doing, by its frames, the files that they are of, and the kernel's words. Pure
// logic.
#pragma once

#include <string>

#include "why/rank_processes.h"

namespace autodist::why {

enum class Doing {
  kUnknown,
  kCollective,  // waits for other ranks
  kDataLoader,
  kFile,    // opens, reads or writes one, or a pipe
  kSocket,  // waits at one, for somebody who is no collective's
  kSleep,
  kLock,     // that another thread has
  kWait,     // for another thread or process, or a lock: the frames do not say
  kStopped,  // by a signal, a debugger, or with its control group
  kDisk,     // cannot be interrupted
  kCompile,
  kCheckpoint,
  kCompute,
};

// `collective` becomes the one that it waits in; "" where its frames do not say which, or in none.
Doing DoingOf(const RankProcess& process, std::string& collective);
// By the kernel's words alone.
Doing ByKernel(const RankProcess& process);

// By a signal, by a debugger that holds it, or frozen with its control group.
bool IsStopped(const RankProcess& process);
bool IsFrozen(const RankProcess& process);

}  // namespace autodist::why
