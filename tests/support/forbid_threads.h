// For death tests: a process that may start no thread and no process.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "support/nobody.h"

namespace autodist::test {

// Changes this process for good. Root is not limited, so it becomes another user.
inline void ForbidThreads() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
}

}  // namespace autodist::test
