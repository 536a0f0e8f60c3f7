// What a key does: a pure function of the key, the job and what is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/view_state.h"

namespace autodist::top {

// A character, or a key that has none.
struct Key {
  enum Name {
    kCharacter,
    kEscape,
    kEnter,
    kBackspace,
    kUp,
    kDown,
    kLeft,
    kRight,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kTab,
    kControl
  };
  Name name = kCharacter;
  uint32_t code = 0;  // of a character; of kControl the letter, 'C' say

  bool operator==(const Key&) const = default;
};

// Makes keys of what a terminal sends: UTF-8, and the sequences of ECMA-48 that all terminals of
// the last decades send for keys; others are passed over. Not thread-safe.
class KeyReader {
 public:
  void Take(std::string_view bytes, std::vector<Key>& keys);
  // A sequence has begun and not ended: if nothing comes for a moment, it was the key Escape.
  bool waits() const { return !pending_.empty(); }
  void EndWait(std::vector<Key>& keys);

 private:
  size_t TakeOne(std::vector<Key>& keys) const;

  std::string pending_;
};

// What is to be done besides.
enum class Command { kNone, kQuit, kSuspend, kRedraw, kOpenLog, kTakeStacks, kStop };

// Changes what is seen.
Command Press(const Key& key, const v1::JobSnapshot& snapshot, ViewState& view);

}  // namespace autodist::top
