// What the ranks write, on its way to the chief: read from their pipes, kept until the chief has
// acknowledged it, sent no faster than the chief takes it.
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

#include "agent/output/send_turns.h"
#include "agent/output/spool.h"
#include "agent/output/stream_backlog.h"
#include "autodist/status.h"
#include "autodist/v1/agent.pb.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"

namespace autodist::agent {

// Where spools are made that outgrow memory: on a disk, where /tmp may be memory.
inline constexpr char kSpoolFolder[] = "/var/tmp";

// Thread-safe; no call blocks but on the disk. One thread reads the pipes, so that neither a slow
// disk nor a flood keeps the supervisor from its work.
class RankOutput {
 public:
  struct Events {
    std::function<void()> changed;  // Next or Drained may have news
    std::function<void(std::string)> warning;
  };
  static Result<std::unique_ptr<RankOutput>> Create(Events events,
                                                    std::string spool_folder = kSpoolFolder);
  ~RankOutput();

  // No event comes after it.
  void StopReading();

  // A new attempt: forgets all streams. `spool_limit`: bytes kept per rank, which waits in write(2)
  // when there are more.
  void Begin(uint64_t spool_limit);
  // Without a valid `err`, `out` is a terminal's, at which somebody waits for each key that is
  // shown.
  void Add(uint32_t rank, base::UniqueFd out, base::UniqueFd err);

  // A session begins; what the chief has of each stream, others from their beginning.
  void Resume(const v1::Resume& resume);
  // The next piece to send, if there is one and no more than kWindow bytes are on their way.
  std::optional<v1::Output> Next();
  void Acknowledge(const v1::OutputAck& ack);

  // When something that the rank has written was read last; nullopt: it has written nothing yet.
  std::optional<base::Deadline::Clock::time_point> LastOutput(uint32_t rank) const;

  // Nobody writes any more: what is in the pipes now is the end.
  void Finish();
  // After Finish: everything has been acknowledged.
  bool Drained() const;

  // Bytes on their way to the chief, of all streams together: what a message of another kind
  // may have to wait for.
  static constexpr uint64_t kWindow = 256 * 1024;
  // While the chief takes output, a rank may be this far ahead of it per stream, so that little is
  // left to send when the job ends; the rest of the spool is for when the chief takes none.
  static constexpr uint64_t kAhead = Spool::kInMemory;

 private:
  struct Stream {
    uint32_t rank;
    v1::OutputStream kind;
    base::UniqueFd pipe;  // invalid: nobody writes any more
    StreamBacklog backlog;
    bool at_once;          // also short pieces
    bool watched = false;  // in the epoll set
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
  // mutex_ held, as for the ones below.
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
  bool stopping_ = false;  // the thread's

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Streams streams_;
  SendTurns turns_;
  uint64_t spool_limit_ = 0;
  bool finishing_ = false;
  // The chief is taken to take nothing when nothing is acknowledged until then.
  base::Deadline stalled_at_ = base::Deadline::Never();
  bool stall_seen_ = false;  // by the thread, since it was set

  std::jthread thread_;  // last
};

}  // namespace autodist::agent
