// Runs a function for many items on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace autodist::base {

// Calls work(0) ... work(count - 1) on up to `most_threads` threads; returns when all have
// returned.
template <typename Work>
void ParallelFor(size_t count, size_t most_threads, const Work& work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < std::min(count, most_threads); ++i) {
    threads.emplace_back([&] {
      for (size_t item = next++; item < count; item = next++) work(item);
    });
  }
}

}  // namespace autodist::base
