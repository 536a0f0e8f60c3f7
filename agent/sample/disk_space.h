// The free space of the file system with a folder.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace autodist::agent {

// Asks on a separate thread, for which no call waits, because an unreachable file server blocks
// forever. Thread-safe; no call blocks.
class DiskSpace {
 public:
  struct Space {
    uint64_t free = 0;  // bytes available to users
    uint64_t total = 0;
  };

  explicit DiskSpace(std::string folder);
  ~DiskSpace();
  DiskSpace(const DiskSpace&) = delete;
  DiskSpace& operator=(const DiskSpace&) = delete;

  // Returns the latest result, and starts the next query. nullopt: unknown, still in progress, or
  // no thread could be started.
  std::optional<Space> Last();

 private:
  // Shared by both threads.
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
