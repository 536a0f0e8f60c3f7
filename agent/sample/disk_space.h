// How much space there is where a folder is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace autodist::agent {

// A file server that is away lets nobody go who asks it: so a thread of its own asks, for which
// nobody waits. Thread-safe; no call blocks.
class DiskSpace {
 public:
  struct Space {
    uint64_t free = 0;  // bytes, for a user
    uint64_t total = 0;
  };

  explicit DiskSpace(std::string folder);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // As it was found to be last; nullopt: it is not known, still being asked for, or no thread could
  // be started to ask.
  // Has it found out for the next call.
  std::optional<Space> Last();

 private:
  // Of both threads, whichever lives longer.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    // Guarded by mutex.
    bool asked = true;
    bool over = false;
    std::optional<Space> space;
  };
  static void Ask(const std::shared_ptr<Shared>& shared, const std::string& folder);

  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace autodist::agent
