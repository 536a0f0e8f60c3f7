// Runs a function for many items on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/thread.h"

namespace autodist::base {

// Calls work(0) ... work(count - 1) on up to `most_threads` threads, or fewer if no more can be
// started; returns when all calls have returned.
template <typename Work>
void ParallelFor(size_t count, size_t most_threads, const Work& work) {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    for (size_t item = next++; item < count; item = next++) work(item);
  };
  std::vector<std::jthread> threads;
  while (threads.size() < std::min(count, most_threads)) {
    auto thread = StartThread(run);
    if (!thread.ok()) break;
    threads.push_back(*std::move(thread));
  }
  if (threads.empty()) run();
}

}  // namespace autodist::base
