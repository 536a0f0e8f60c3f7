#include "agent/sample/disk_space.h"

#include <sys/statvfs.h>

#include <utility>

#include "base/thread.h"

namespace autodist::agent {

DiskSpace::DiskSpace(std::string folder) {
  auto thread =
      base::StartThread([shared = shared_, folder = std::move(folder)] { Ask(shared, folder); });
  if (thread.ok()) thread->detach();
}

DiskSpace::~DiskSpace() {
  const std::lock_guard lock(shared_->mutex);
  shared_->over = true;
  shared_->changed.notify_all();
}

std::optional<DiskSpace::Space> DiskSpace::Last() {
  const std::lock_guard lock(shared_->mutex);
  if (std::exchange(shared_->asked, true)) return std::nullopt;
  shared_->changed.notify_all();
  return shared_->space;
}

void DiskSpace::Ask(const std::shared_ptr<Shared>& shared, const std::string& folder) {
  std::unique_lock lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->asked || shared->over; });
    if (shared->over) return;
    lock.unlock();
    struct statvfs info {};
    const bool known = statvfs(folder.c_str(), &info) == 0 && info.f_blocks > 0;
    lock.lock();
    shared->space.reset();
    if (known) {
      shared->space = {uint64_t{info.f_bavail} * info.f_frsize,
                       uint64_t{info.f_blocks} * info.f_frsize};
    }
    shared->asked = false;
  }
}

}  // namespace autodist::agent
