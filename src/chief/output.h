// What the ranks write, on its way to the terminal and to the log files.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "base/fd.h"

namespace autodist::chief {

// Writes on a thread of its own, so that a slow terminal never delays anything but the ranks that
// write. Thread-safe.
class OutputWriter {
 public:
  // Called on the writer's thread when all bytes before the ack's offset have been written.
  using Written = std::function<void(uint32_t node_rank, const v1::OutputAck& ack)>;

  // Makes `folder`, readable by this user only, and a file rank-N.out and rank-N.err in it for
  // every rank.
  static Result<std::unique_ptr<OutputWriter>> Create(const v1::LaunchPlan& plan,
                                                      const std::string& folder, Written written);
  ~OutputWriter();

  // Queues it; the agents' flow control bounds the queue.
  void Write(v1::Output output);

  // A message of autodist's own, logged in its turn.
  void Say(std::string message);

  // Blocks until everything is written; ends unfinished lines.
  void Finish();

  // The last lines of the rank, of both streams; after Finish.
  std::vector<std::string> LastLines(uint32_t rank) const;

 private:
  struct Sink {  // of one stream of one rank
    base::UniqueFd file;
    std::string line;  // begun, not yet ended
  };
  struct Rank {
    uint32_t node_rank;
    std::string prefix;  // "[node:rank] "
    std::array<Sink, 2> sinks;
    std::deque<std::string> last_lines;
  };

  explicit OutputWriter(Written written) : written_(std::move(written)) {}
  void Run();
  void Take(const v1::Output& output);
  void EndLine(Rank& rank, size_t stream);
  void WriteTerminal();

  const Written written_;
  std::map<uint32_t, Rank> ranks_;
  std::array<std::string, 2> terminal_;  // for stdout and stderr
  std::array<bool, 2> terminal_closed_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::Output> queue_;       // guarded by mutex_
  std::vector<std::string> messages_;  // guarded by mutex_
  bool finishing_ = false;             // guarded by mutex_
  std::thread thread_;
};

}  // namespace autodist::chief
