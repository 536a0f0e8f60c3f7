// The supervisor wants SIGCHLD blocked in every thread; include this in its tests, so that it is
// before main starts any.
#pragma once

#include <signal.h>

#include "process/process_tree.h"

namespace autodist::test {

inline const bool sigchld_is_blocked = [] {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  process::AdoptOrphans();
  return true;
}();

}  // namespace autodist::test
