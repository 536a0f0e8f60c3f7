// Limits repeated messages about many nodes or ranks at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <utility>

#include "chief/loop/loop.h"

namespace autodist::chief {

// Pure logic; not thread-safe.
template <typename Key>
class RepeatLimit {
 public:
  static constexpr size_t kMax = 100;  // within kWindow
  static constexpr std::chrono::seconds kWindow{10};
  static constexpr size_t kMaxKeys = 1'000;

  // Returns the message's number in its window; those after kMax are to be omitted. Calls `more`
  // with the key of an earlier window and the number of omitted messages.
  template <typename More>
  size_t Add(const Key& key, Loop::Time now, const More& more) {
    if (said_.size() >= kMaxKeys) End(more);
    Said& said = said_[key];
    if (now - said.began > kWindow) {
      Flush(key, std::exchange(said, {now}), more);
    }
    return ++said.count;
  }
  // Ends all windows.
  template <typename More>
  void End(const More& more) {
    for (const auto& [key, said] : std::exchange(said_, {})) Flush(key, said, more);
  }

 private:
  struct Said {
    Loop::Time began{};
    size_t count = 0;
  };

  template <typename More>
  static void Flush(const Key& key, const Said& said, const More& more) {
    if (said.count > kMax) more(key, said.count - kMax);
  }

  std::map<Key, Said> said_;
};

}  // namespace autodist::chief
