#include "agent/life/heartbeat.h"

#include <sys/mman.h>

#include <cerrno>
#include <new>

namespace autodist::agent {

Result<Heartbeat> Heartbeat::Make() {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return ErrnoError(errno, "memory for watchdog and agent");
  return Heartbeat({new (memory) Shared, [](Shared* shared) { munmap(shared, sizeof *shared); }});
}

void Heartbeat::Beat(std::chrono::milliseconds within) {
  shared_->within_ms = within.count();
  ++shared_->beats;
}

void Heartbeat::ExpireAt(base::Deadline deadline) { shared_->expires = deadline.when(); }

void MissedBeats::Count(uint64_t beats, std::chrono::milliseconds waited) {
  missed_ = std::exchange(beats_, beats) == beats ? missed_ + waited : waited.zero();
}

}  // namespace autodist::agent
