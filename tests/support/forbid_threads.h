// For death tests: forbids this process to start threads and processes.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "support/nobody.h"

namespace autodist::test {

// Changes this process permanently. Root is not limited, so it becomes another user.
inline void ForbidThreads() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_NPROC, &none) != 0) _exit(2);
  if (geteuid() == 0 && setresuid(kNobody, kNobody, kNobody) != 0) _exit(2);
}

}  // namespace autodist::test
