// The supervisor requires that SIGCHLD is blocked in every thread; its tests include this file,
// which blocks it before main starts any thread.
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
