// The thread that writes to the terminal: the ranks' lines and autodist's own messages, in order. A
// slow or paused terminal delays only the ranks that write.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "base/log.h"
#include "chief/output/rank_logs.h"
#include "display/screen.h"

namespace autodist::chief {

// Thread-safe; only Clear, Finish, FinishWithin and the destructor block.
class Console {
 public:
  // Called on the console's thread when all bytes before the ack's offset have been written.
  using Written = std::function<void(uint32_t node, const v1::OutputAck& ack)>;

  // Until Finish, also writes the messages of base::Log.
  explicit Console(Written written);
  ~Console() { Finish(); }

  // Queues output of a node's rank; the agents' flow control bounds the queue. Without logs, only
  // acknowledges it.
  void Write(std::shared_ptr<RankLogs> logs, uint32_t node, v1::Output output);
  // Ends the ranks' incomplete lines, in order.
  void EndLines(std::shared_ptr<RankLogs> logs);
  // Shows the stderr of a failed rank from now on, regardless of --show.
  void ShowErrorsOf(std::shared_ptr<RankLogs> logs, uint32_t rank);
  // Writes a line to stdout, in order.
  void Print(std::string line);
  // Writes a message of autodist to stderr, in order.
  void Log(base::LogLevel level, std::string text);
  // Removes the progress bars from the terminal before another program writes to it; they return
  // with the next output. Blocks for at most kClearLimit.
  void Clear();

  // Returns whether output is queued or being written.
  bool Busy() const;
  uint64_t written() const { return written_bytes_; }  // output, in bytes

  // Blocks until everything is written; no call may follow.
  void Finish();
  // The same with a limit. Returns false if the terminal accepts no output; the console's thread is
  // then still blocked, so that this process can only end by _exit.
  bool FinishWithin(std::chrono::milliseconds limit);

  // Warnings about a terminal that accepts no more output; after Finish.
  const std::vector<std::string>& warnings() const { return screen_.warnings(); }

 private:
  struct Piece {
    enum Kind { kOutput, kEnd, kErrors, kLine, kMessage } kind;
    std::shared_ptr<RankLogs> logs{};
    uint32_t number = 0;                           // of the node; for kErrors, of the rank
    v1::Output output{};                           // of kOutput
    std::string text{};                            // of kLine and kMessage
    base::LogLevel level = base::LogLevel::kInfo;  // of kMessage
  };
  struct Queue {
    std::vector<Piece> pieces;
    size_t outputs = 0;  // number of kOutput pieces
    bool clear = false;
    bool finish = false;
  };

  void Add(Piece piece);
  void AskToFinish();
  Queue Await();
  void Show(const Queue& taken);
  void Run();

  const Written written_;
  // Used by the console's thread.
  display::Screen screen_;
  std::shared_ptr<RankLogs> shown_;  // may have progress bars
  std::atomic<uint64_t> written_bytes_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;                              // guarded by mutex_
  bool writing_ = false;                     // guarded by mutex_
  bool finished_ = false;                    // guarded by mutex_
  uint64_t cleared_ = 0;                     // number of Clear calls done; guarded by mutex_
  std::thread thread_{&Console::Run, this};  // last: uses the rest
};

}  // namespace autodist::chief
