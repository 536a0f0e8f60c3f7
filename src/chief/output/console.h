// The one thread that speaks: the ranks' lines and autodist's own messages, in their order, so that
// a slow or paused terminal delays nothing but the ranks that write.
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
#include <utility>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "base/log.h"
#include "chief/output/rank_logs.h"
#include "display/screen.h"

namespace autodist::chief {

// Thread-safe; no call blocks but Finish and the destructor.
class Console {
 public:
  // Called on the console's thread when all bytes before the ack's offset have been written.
  using Written = std::function<void(uint32_t node, const v1::OutputAck& ack)>;

  // Until Finish, what base::Log is told by others is told by the console, too.
  explicit Console(Written written);
  ~Console() { Finish(); }

  // Queues what the node's rank wrote; the agents' flow control bounds the queue. Without logs it
  // is only acknowledged.
  void Write(std::shared_ptr<RankLogs> logs, uint32_t node, v1::Output output);
  // Ends the lines that the ranks have not ended, in its turn.
  void EndLines(std::shared_ptr<RankLogs> logs);
  // The rank has failed: what it wrote to stderr is shown from now on, whatever --show says.
  void ShowErrorsOf(std::shared_ptr<RankLogs> logs, uint32_t rank);
  // A line of its own on stdout, in its turn.
  void Print(std::string line);
  // A message of autodist's own.
  void Tell(base::LogLevel level, std::string text);
  // Takes the bars off the terminal, as somebody else will write to it; they come back when there
  // is more to show. Blocks, but not longer than a moment: see kClearLimit.
  void Clear();

  // Whether output is queued or being written.
  bool Busy() const;
  uint64_t written() const { return written_bytes_; }  // of output, so far

  // Blocks until everything is written; nothing may follow.
  void Finish();
  // The same, but for no longer than that: false where the terminal takes nothing. The console's
  // thread is left there then, so that this process can only end by _exit.
  bool FinishWithin(std::chrono::milliseconds limit);

  // Of a terminal that takes no more; after Finish.
  const std::vector<std::string>& warnings() const { return screen_.warnings(); }

 private:
  struct Piece {
    enum Kind { kOutput, kEnd, kErrors, kLine } kind;
    std::shared_ptr<RankLogs> logs;
    uint32_t number;    // of the node; of the rank whose errors are shown
    v1::Output output;  // of kOutput; of kLine its data is the line
  };
  struct Queue {
    std::vector<Piece> pieces;
    size_t outputs = 0;  // of the pieces
    std::vector<std::pair<base::LogLevel, std::string>> messages;
    bool clear = false;
    bool finish = false;
  };

  void Add(Piece piece);
  void AskToFinish();
  Queue Await();
  void Show(const Queue& taken);
  void Run();

  const Written written_;
  // The console's thread's.
  display::Screen screen_;
  std::shared_ptr<RankLogs> shown_;  // of which there may be bars
  std::atomic<uint64_t> written_bytes_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue queue_;                              // guarded by mutex_
  bool writing_ = false;                     // guarded by mutex_
  bool finished_ = false;                    // guarded by mutex_
  uint64_t cleared_ = 0;                     // how often; guarded by mutex_
  std::thread thread_{&Console::Run, this};  // last: uses the rest
};

}  // namespace autodist::chief
