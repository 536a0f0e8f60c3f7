// The output of ranks on its way to the chief: read from their pipes, kept until the chief has
// acknowledged it, and sent no faster than the chief accepts it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "agent/output/stream_backlog.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"

namespace autodist::agent {

// A message costs the chief 0.1 ms, however short it is. So the output of a rank below
// kWorthAMessage is sent at most once in kBatchInterval, together for all ranks. Not thread-safe.
class SendTurns {
 public:
  static constexpr uint64_t kWorthAMessage = 8 * 1024;  // bytes
  static constexpr std::chrono::milliseconds kBatchInterval{100};

  // Starts a new attempt.
  void Begin() { batches_.clear(); }
  // Returns the turn of a new piece: after all others.
  uint64_t New() { return ++last_; }
  // Whether a piece of that turn may be sent, from a rank with `bytes` to send; otherwise
  // next_batch() is when it may. All output of a rank that waits then is sent together.
  bool MayGo(uint32_t rank, uint64_t turn, uint64_t bytes);

  // The time at which postponed pieces may be sent. Never: no postponed pieces.
  base::Deadline next_batch() const { return next_batch_; }
  // Whether that time has come; true only once.
  bool TakeNextBatch();

 private:
  struct Batch {
    uint64_t last_turn = 0;                           // the last turn in the batch
    base::Deadline next = base::Deadline::After({});  // the earliest time of the next short one
  };

  const base::Deadline::Clock::time_point began_ = base::Deadline::Clock::now();
  uint64_t last_ = 0;
  std::map<uint32_t, Batch> batches_;  // by rank
  base::Deadline next_batch_ = base::Deadline::Never();
};

// The folder for spools that exceed memory: on a disk, where /tmp may be in memory.
inline constexpr char kSpoolFolder[] = "/var/tmp";

// Thread-safe; calls block only on the disk. A thread reads the pipes, so that neither a slow disk
// nor a flood of output blocks the supervisor.
class RankOutput {
 public:
  struct Events {
    std::function<void()> changed;  // Next or Drained may return something new
    std::function<void(std::string)> warning;
  };
  static Result<std::unique_ptr<RankOutput>> Create(Events events,
                                                    std::string spool_folder = kSpoolFolder);
  ~RankOutput();

  // Stops all events.
  void StopReading();

  // Starts a new attempt: drops all streams. `spool_limit`: bytes kept per rank; beyond it, the
  // rank's write(2) blocks.
  void Begin(uint64_t spool_limit);
  // Without a valid `err`, `out` is that of a terminal, where each typed character must be shown
  // immediately.
  void Add(uint32_t rank, base::UniqueFd out, base::UniqueFd err);

  // Begins a session; has the chief's offset of each stream; other streams start from the
  // beginning.
  void Resume(const v1::Resume& resume);
  // Returns the next piece to send, if any, and if at most kWindow bytes are in transit.
  std::optional<v1::Output> Next();
  void Acknowledge(const v1::OutputAck& ack);

  // Returns when output of the rank was last read; nullopt: it has written nothing yet.
  std::optional<base::Deadline::Clock::time_point> LastOutput(uint32_t rank) const;

  // All writers have ended: what is in the pipes now is the rest.
  void Finish();
  // After Finish: whether everything has been acknowledged.
  bool Drained() const;

  // The maximum number of bytes in transit to the chief, over all streams: other messages may have
  // to wait for them.
  static constexpr uint64_t kWindow = 256 * 1024;
  // While the chief accepts output, a rank may be this far ahead per stream, so that little remains
  // to be sent when the job ends; the rest of the spool is for times when the chief accepts none.
  static constexpr uint64_t kAhead = Spool::kInMemory;

 private:
  struct Stream {
    uint32_t rank;
    v1::OutputStream kind;
    base::UniqueFd pipe;  // invalid: all writers have closed it
    StreamBacklog backlog;
    bool at_once;          // also sends short pieces
    bool watched = false;  // is in the epoll set
    std::optional<base::Deadline::Clock::time_point> last_read = {};
  };
  using Streams = std::map<std::pair<uint32_t, int>, Stream>;
  struct StreamRange {
    Streams::const_iterator first;
    Streams::const_iterator last;
    auto begin() const { return first; }
    auto end() const { return last; }
  };

  RankOutput(Events events, std::string spool_folder)
      : events_(std::move(events)), spool_folder_(std::move(spool_folder)) {}
  void Loop();
  void ReadToTheEnd();
  // Call these with mutex_ held.
  void Read(Stream& stream, std::string& warning);
  uint64_t Room(const Stream& stream) const;
  void Watch(Stream& stream);
  void WatchAll();
  void NoteProgress();
  void SetStalled(base::Deadline at);
  void Close(Stream& stream);
  Stream* NextInTurn();
  uint64_t WorthOf(uint32_t rank) const;
  Stream* Find(const v1::OutputAck& ack);
  StreamRange OfRank(uint32_t rank) const;

  const Events events_;
  const std::string spool_folder_;
  base::UniqueFd epoll_;
  base::TaskQueue tasks_;
  bool stopping_ = false;  // used only by the thread

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Streams streams_;
  SendTurns turns_;
  uint64_t spool_limit_ = 0;
  bool finishing_ = false;
  bool disk_failed_ = false;  // reported, once for all ranks
  // The time at which the chief counts as stalled, unless it acknowledges something before.
  base::Deadline stalled_at_ = base::Deadline::Never();
  bool stall_seen_ = false;  // by the thread, since it was set

  std::jthread thread_;  // last
};

}  // namespace autodist::agent
