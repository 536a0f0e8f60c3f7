// The input of a rank, typed or piped, on its way from the chief: kept until the rank's pipe or
// terminal accepts it.
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

// Thread-safe; no call blocks. One thread writes, so that a rank that does not read blocks nothing
// else. SIGPIPE must be ignored.
class RankInput {
 public:
  // The limit for one rank; more is dropped: the chief sends at most this much ahead of InputTaken.
  static constexpr size_t kMaxBytes = 256 << 10;  // bytes

  // Sends a message to the chief; must not call back.
  using Report = std::function<void(v1::InputTaken)>;
  static Result<std::unique_ptr<RankInput>> Create(Report report);
  ~RankInput();

  // Starts a new attempt: drops everything.
  void Begin();
  // Adds input from the chief, which may arrive before the rank has a pipe or terminal.
  void Take(const v1::RankInput& input);
  // Sets the non-blocking input of a rank that is about to start.
  void Add(uint32_t rank, base::UniqueFd in);
  // The rank has ended: reports nothing about it any more.
  void Remove(uint32_t rank);

 private:
  struct Stream {
    base::UniqueFd fd;  // invalid before the start and after the end
    std::string waiting;
    uint64_t taken = 0;
    bool end = false;     // after the waiting data
    bool closed = false;  // the rank no longer reads
    v1::TerminalSize size;
  };

  explicit RankInput(Report report) : report_(std::move(report)) {}
  void Loop();
  // Call these with mutex_ held.
  void Write(uint32_t rank, Stream& stream);
  void Close(uint32_t rank, Stream& stream);
  void ReportTaken(uint32_t rank, const Stream& stream) const;
  static void Resize(const Stream& stream);

  const Report report_;
  base::TaskQueue tasks_;
  bool stopping_ = false;  // used only by the thread
  std::mutex mutex_;
  std::map<uint32_t, Stream> streams_;  // guarded by mutex_
  std::jthread thread_;                 // last
};

}  // namespace autodist::agent
