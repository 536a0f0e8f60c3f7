// Blocks SIGPIPE in this thread, so that a write to a closed connection fails instead.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace autodist {

// Applies to the calling thread and, permanently, to threads that it starts meanwhile. The
// process's disposition of SIGPIPE is unchanged.
class SigpipeBlocked {
 public:
  SigpipeBlocked() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  ~SigpipeBlocked() {
    constexpr timespec kNow{};
    if (!was_pending_) sigtimedwait(&sigpipe_, nullptr, &kNow);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeBlocked(const SigpipeBlocked&) = delete;
  SigpipeBlocked& operator=(const SigpipeBlocked&) = delete;

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_;
};

}  // namespace autodist
