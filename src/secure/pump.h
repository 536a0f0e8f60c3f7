// Passes bytes between encrypted sessions and local sockets, so that programs and gRPC have an
// ordinary socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"
#include "secure/session.h"

namespace autodist::secure {

// One session. Never blocks; for one thread.
class Pump {
 public:
  Pump(std::unique_ptr<Session> session, base::UniqueFd local)
      : session_(std::move(session)), local_(std::move(local)) {}

  // kOver: both directions have ended, or the connection is lost. kMore: others have their turn,
  // and nothing would tell that it can go on.
  enum class State { kWaits, kMore, kOver };
  State Advance();
  // All that the local side has written, and its end, is on the network.
  bool flushed() const { return end_written_ && !session_->has_to_send(); }

  int network() const { return session_->socket(); }
  int local() const { return local_.get(); }
  // Of epoll, until the next Advance; 0: the descriptor is not awaited.
  uint32_t network_events() const;
  uint32_t local_events() const;
  // By when it is over, once its local side has closed.
  std::optional<base::Deadline> deadline() const { return deadline_; }

 private:
  bool MoveSome();
  bool ReadNetwork();
  bool WriteLocal(std::string_view bytes);
  bool ReadLocal();
  void OnLocalGone();

  const std::unique_ptr<Session> session_;
  const base::UniqueFd local_;
  std::string to_local_;
  bool local_ended_ = false;    // it writes no more
  bool local_gone_ = false;     // nor does it read
  bool end_written_ = false;    // to the session
  bool network_ended_ = false;  // and what came has been passed on, once to_local_ is empty
  bool lingers_ = false;        // has nothing left to do but to see the end
  bool broken_ = false;
  std::optional<base::Deadline> deadline_;
};

// Blocks until it is over.
void PumpUntilOver(Pump& pump);

// A thread that serves any number of them. Thread-safe.
class PumpThread {
 public:
  static Result<std::shared_ptr<PumpThread>> Start();
  // Stops within a second.
  ~PumpThread() { Stop(base::Deadline::After(kStopLimit)); }
  PumpThread(const PumpThread&) = delete;
  PumpThread& operator=(const PumpThread&) = delete;

  // The other end of a socket whose bytes go through the session from here on.
  Result<base::UniqueFd> Add(std::unique_ptr<Session> session);

  // Cuts all connections, once what their local sides have written, and the end of it, is on the
  // network.
  void Stop(base::Deadline deadline);

 private:
  static constexpr std::chrono::milliseconds kStopLimit{1'000};
  struct Watched {
    std::shared_ptr<Pump> pump;
    uint32_t network = 0;  // events that epoll awaits
    uint32_t local = 0;
  };

  PumpThread() = default;
  void Run();
  void Advance(uint64_t number);
  void Watch(int fd, uint32_t events, uint32_t& now, uint64_t number);
  void AdvanceLate();
  bool MayStop() const;

  base::UniqueFd epoll_;
  base::TaskQueue tasks_;
  // The thread's own:
  std::map<uint64_t, Watched> pumps_;       // by a number, which epoll has
  std::set<uint64_t> busy_;                 // may go on at once
  std::map<uint64_t, base::Deadline> due_;  // of those that have one
  uint64_t added_ = 0;
  bool stopping_ = false;
  base::Deadline stop_at_ = base::Deadline::Never();
  std::jthread thread_;  // last: uses the rest
};

}  // namespace autodist::secure
