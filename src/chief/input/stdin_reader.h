// Reads this process's stdin, as fast as what is read is taken, and notices when the terminal there
// has another size.
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
  static constexpr size_t kPiece = 2 << 10;   // bytes, at most of one call of `bytes`
  static constexpr size_t kAhead = 64 << 10;  // bytes that have not been taken
  // Each is a message, however few bytes it has.
  static constexpr size_t kMaxPieces = 256;

  // Called on a thread of its own.
  struct Events {
    // Returns how many of them are to be taken; the others are none of the rank's.
    std::function<size_t(const std::string& bytes)> bytes;
    std::function<void()> end;  // nothing follows
    std::function<void(const v1::TerminalSize& size)> resized;
  };

  static Result<std::unique_ptr<StdinReader>> Start(Events events);
  // No event comes after it. Blocks until one that is under way has returned.
  ~StdinReader();

  // So many more bytes have been taken.
  void Taken(uint64_t bytes);

 private:
  explicit StdinReader(Events events) : events_(std::move(events)) {}
  void Loop();
  size_t Room();
  void Release(size_t bytes);  // mutex_ held

  const Events events_;
  base::UniqueFd resized_;  // signalfd: SIGWINCH
  base::FdPair wake_;       // something to look at; closed: the end
  std::mutex mutex_;
  // Guarded by mutex_.
  std::deque<size_t> pieces_;  // that have not been taken, by what is left of them
  size_t ahead_ = 0;           // bytes of these
  std::jthread thread_;        // last
};

}  // namespace autodist::chief
