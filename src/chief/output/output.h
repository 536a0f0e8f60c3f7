// What the ranks write, on its way to the terminal and to the log files.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// That all bytes up to the end of this piece have been dealt with.
v1::OutputAck AckOf(const v1::Output& output);

// Which lines on the terminal begin with "[node:rank] ".
enum class Prefixes { kAll, kStderr };

// Writes on a thread of its own, so that a slow terminal never delays anything but the ranks that
// write. Thread-safe.
class OutputWriter {
 public:
  // Called on the writer's thread when all bytes before the ack's offset have been written.
  using Written = std::function<void(uint32_t node_rank, const v1::OutputAck& ack)>;

  // Makes a file rank-N.out and rank-N.err in the folder for every rank of the plan.
  static Result<std::unique_ptr<OutputWriter>> Create(const v1::LaunchPlan& plan,
                                                      const std::string& folder, Prefixes prefixes,
                                                      Written written);
  ~OutputWriter();

  // Queues it; the agents' flow control bounds the queue.
  void Write(v1::Output output);
  // Whether something is queued or being written.
  bool Busy() const;
  uint64_t written() const { return written_bytes_; }  // so far

  // A message of autodist's own, logged in its turn.
  void Say(std::string message);

  // Blocks until everything is written; ends unfinished lines.
  void Finish();

  // The last lines of the rank, of both streams.
  std::vector<std::string> LastLines(uint32_t rank) const;
  // What the person has to know of output that is not where it should be; after Finish.
  const std::vector<std::string>& troubles() const { return troubles_; }

 private:
  struct Sink {  // of one stream of one rank
    base::UniqueFd file;
    uint64_t size = 0;  // of the file
    bool cut_short = false;
    std::string line;  // begun, not yet ended; of a long one its beginning
    // Where in the file the line begins, if it has become too long to keep.
    std::optional<uint64_t> long_line;
  };
  struct Rank {
    uint32_t node_rank;
    std::string prefix;  // "[node:rank] "
    std::array<Sink, 2> sinks;
    std::deque<std::string> last_lines;
  };

  OutputWriter(Prefixes prefixes, Written written)
      : prefixes_(prefixes), written_(std::move(written)) {}
  void Run();
  void Take(const v1::Output& output);
  void WriteFile(uint32_t number, Sink& sink, std::string_view data);
  void AddToLine(Rank& rank, size_t stream, std::string_view data, bool ends);
  void EndLine(Rank& rank, size_t stream);
  void CopyLongLine(const Sink& sink, size_t stream);
  void WriteTerminal();
  void WriteTerminal(size_t stream, std::string_view text);
  void Trouble(const std::string& what);

  const Prefixes prefixes_;
  const Written written_;
  std::map<uint32_t, Rank> ranks_;
  std::array<std::string, 2> terminal_;  // for stdout and stderr
  std::array<bool, 2> terminal_closed_{};

  std::vector<std::string> troubles_;
  std::atomic<uint64_t> written_bytes_ = 0;

  mutable std::mutex lines_mutex_;  // guards last_lines of all ranks

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool writing_ = false;               // guarded by mutex_
  std::deque<v1::Output> queue_;       // guarded by mutex_
  std::vector<std::string> messages_;  // guarded by mutex_
  bool finishing_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace autodist::chief
