// Reads this process's stdin no faster than the input is acknowledged, and detects changes of the
// terminal's size.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// Thread-safe. SIGWINCH must be blocked in every thread of the process.
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
