// Reads what a user types, or what else this process's stdin has, for ranks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// Recognizes escapes in input typed at the terminal of a rank: as in ssh, `~` at the beginning of a
// line and a character. Pure logic.
class EscapeKeys {
 public:
  enum class Key { kLeave, kHelp };  // ~. and ~?

  struct Typed {
    std::string bytes;      // for the rank; `~~` is one `~`
    std::vector<Key> keys;  // nothing after the first kLeave
  };
  Typed Take(std::string_view typed);

 private:
  enum class State { kLine, kBegin, kEscape };  // inside a line; at its beginning; after `~` there
  State state_ = State::kBegin;
};

// Puts this process's terminal into raw mode: each key is read as a byte, and has no other effect.
// At most one exists in a process.
class RawTerminal {
 public:
  // Returns whether stdin is a terminal and this process is in its foreground, so receives its
  // input.
  static bool IsOurs();
  static v1::TerminalSize Size();  // 0 × 0: unknown

  // Enters raw mode. This process's own messages still begin at the left margin.
  static Result<std::unique_ptr<RawTerminal>> Enter();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal() { Restore(); }

  // Restores the mode from before Enter; does nothing if it is active. Async-signal-safe.
  static void Restore();

 private:
  RawTerminal() = default;
};

// Reads this process's stdin no faster than the input is acknowledged, and detects changes of the
// terminal's size. Thread-safe. SIGWINCH must be blocked in every thread of the process.
class StdinReader {
 public:
  static constexpr size_t kPiece = 2 << 10;   // max bytes of one call of `bytes`
  static constexpr size_t kAhead = 64 << 10;  // max unacknowledged bytes
  // Max unacknowledged pieces: each is a message, even with few bytes.
  static constexpr size_t kMaxPieces = 256;

  // Called on the reader's thread.
  struct Events {
    // Returns how many bytes will be acknowledged; the others were not for the rank.
    std::function<size_t(const std::string& bytes)> bytes;
    std::function<void()> end;  // end of input
    std::function<void(const v1::TerminalSize& size)> resized;
  };

  static Result<std::unique_ptr<StdinReader>> Start(Events events);
  // Blocks until a running event call has returned; no event follows.
  ~StdinReader();

  // Acknowledges this number of bytes.
  void Taken(uint64_t bytes);

 private:
  explicit StdinReader(Events events) : events_(std::move(events)) {}
  void Loop();
  size_t Room();
  void Release(size_t bytes);  // mutex_ held

  const Events events_;
  base::UniqueFd resized_;  // signalfd: SIGWINCH
  base::FdPair wake_;       // wakes the thread; closed: ends it
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<size_t> pieces_;  // sizes of unacknowledged pieces, less acknowledged bytes
  size_t ahead_ = 0;           // their sum, in bytes
  std::jthread thread_;        // last: joined first
};

}  // namespace autodist::chief
