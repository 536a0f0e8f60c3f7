// Limits the number of concurrent holders.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace autodist::web {

// Thread-safe. The seats may outlive it.
class ConnectionLimit {
 public:
  explicit ConnectionLimit(size_t most) : taken_(std::make_shared<Taken>()), most_(most) {}

  // The slot is taken until the last copy is destroyed. Null: none is free.
  std::shared_ptr<const void> Take() {
    const std::lock_guard lock(taken_->mutex);
    if (taken_->number >= most_) return nullptr;
    ++taken_->number;
    return {static_cast<const void*>(this), [taken = taken_](const void*) {
              const std::lock_guard giving(taken->mutex);
              --taken->number;
            }};
  }
  size_t taken() const {
    const std::lock_guard lock(taken_->mutex);
    return taken_->number;
  }

 private:
  struct Taken {
    std::mutex mutex;
    size_t number = 0;  // guarded by mutex
  };
  const std::shared_ptr<Taken> taken_;
  const size_t most_;
};

}  // namespace autodist::web
