// What is typed for a rank, or piped into it, on its way from the chief: kept until the rank's pipe
// or terminal takes it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/session.pb.h"
#include "base/fd.h"
#include "base/task_queue.h"

namespace autodist::agent {

// Thread-safe; no call blocks. One thread writes, so that a rank that reads nothing keeps nobody
// from their work. SIGPIPE must be ignored.
class RankInput {
 public:
  // Of one rank; more is not kept: a chief sends no more than that ahead of InputTaken.
  static constexpr size_t kMost = 256 << 10;  // bytes

  // Tells the chief; must not call back.
  using Tell = std::function<void(v1::InputTaken)>;
  static Result<std::unique_ptr<RankInput>> Create(Tell tell);
  ~RankInput();

  // A new attempt: forgets all.
  void Begin();
  // What the chief has for a rank, which may be before the rank has a pipe or terminal.
  void Take(const v1::RankInput& input);
  // Of a rank that is about to start: where it reads from, not blocking.
  void Add(uint32_t rank, base::UniqueFd in);
  // The rank has ended: nothing is told of it any more.
  void Remove(uint32_t rank);

 private:
  struct Stream {
    base::UniqueFd fd;  // invalid: not yet, or not any more
    std::string waiting;
    uint64_t taken = 0;
    bool end = false;     // after what waits
    bool closed = false;  // the rank reads no more
    v1::TerminalSize size;
  };

  explicit RankInput(Tell tell) : tell_(std::move(tell)) {}
  void Loop();
  // mutex_ held, as for the ones below.
  void Write(uint32_t rank, Stream& stream);
  void Close(uint32_t rank, Stream& stream);
  void TellTaken(uint32_t rank, const Stream& stream) const;
  static void Resize(const Stream& stream);

  const Tell tell_;
  base::TaskQueue tasks_;
  bool stopping_ = false;  // the thread's
  std::mutex mutex_;
  std::map<uint32_t, Stream> streams_;  // guarded by mutex_
  std::jthread thread_;                 // last
};

}  // namespace autodist::agent
