// The same for each of many, several at the same time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace autodist::chief {

// Calls `each` with every number below `count`, on `at_once` threads. Blocks until all have
// returned; `each` must not throw.
inline void InParallel(size_t count, size_t at_once, const std::function<void(size_t)>& each) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(count, at_once); ++i) {
    threads.emplace_back([&] {
      for (size_t number = next++; number < count; number = next++) each(number);
    });
  }
}

}  // namespace autodist::chief
