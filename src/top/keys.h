// The action of each key: a pure function of the key, the job and the view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "top/view_model.h"

namespace autodist::top {

// A character, or a key without one.
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
  uint32_t code = 0;  // of a character; for kControl the letter, such as 'C'

  bool operator==(const Key&) const = default;
};

// Decodes the input of a terminal: UTF-8, and the ECMA-48 key sequences that common terminals send;
// ignores others. Not thread-safe.
class KeyReader {
 public:
  void Take(std::string_view bytes, std::vector<Key>& keys);
  // A sequence is incomplete: if nothing follows within a moment, it was the key Escape.
  bool waits() const { return !pending_.empty(); }
  void EndWait(std::vector<Key>& keys);

 private:
  size_t TakeOne(std::vector<Key>& keys) const;

  std::string pending_;
};

// An action that the caller must perform.
enum class Command { kNone, kQuit, kSuspend, kRedraw, kOpenLog, kTakeStacks, kAskWhy, kStop };

// Changes the view.
Command Press(const Key& key, const v1::JobSnapshot& snapshot, ViewState& view);

}  // namespace autodist::top
