// Copies bytes between encrypted sessions and local sockets, so that programs and gRPC can use an
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

// Pumps one session. Never blocks; for one thread.
class Pump {
 public:
  Pump(std::unique_ptr<Session> session, base::UniqueFd local)
      : session_(std::move(session)), local_(std::move(local)) {}

  // kOver: both directions have ended, or the connection is lost. kMore: it can continue, and must
  // be called again without waiting for an event, after the others.
  enum class State { kWaits, kMore, kOver };
  State Advance();
  // Whether all data of the local side, and its end, are on the network.
  bool flushed() const { return end_written_ && !session_->has_to_send(); }

  int network() const { return session_->socket(); }
  int local() const { return local_.get(); }
  // Events for epoll until the next Advance; 0: do not wait for the descriptor.
  uint32_t network_events() const;
  uint32_t local_events() const;
  // When the session is cut after its local side has closed.
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
  bool local_gone_ = false;     // it reads no more either
  bool end_written_ = false;    // to the session
  bool network_ended_ = false;  // everything received is passed on once to_local_ is empty
  bool lingers_ = false;        // only waits for the end
  bool broken_ = false;
  std::optional<base::Deadline> deadline_;
};

// Blocks until the session is over.
void PumpUntilOver(Pump& pump);

// A thread that serves any number of sessions. Thread-safe.
class PumpThread {
 public:
  static Result<std::shared_ptr<PumpThread>> Start();
  // Stops within a second.
  ~PumpThread() { Stop(base::Deadline::After(kStopLimit)); }
  PumpThread(const PumpThread&) = delete;
  PumpThread& operator=(const PumpThread&) = delete;

  // Returns the other end of a socket whose bytes go through the session.
  Result<base::UniqueFd> Add(std::unique_ptr<Session> session);

  // Cuts all connections after all data of their local sides, and the end of it, are on the
  // network.
  void Stop(base::Deadline deadline);

 private:
  static constexpr std::chrono::milliseconds kStopLimit{1'000};
  struct Watched {
    std::shared_ptr<Pump> pump;
    uint32_t network = 0;  // events that epoll waits for
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
  // Used only by the thread:
  std::map<uint64_t, Watched> pumps_;       // by number, which is epoll's user data
  std::set<uint64_t> busy_;                 // can continue without waiting
  std::map<uint64_t, base::Deadline> due_;  // of pumps that have one
  uint64_t added_ = 0;
  bool stopping_ = false;
  base::Deadline stop_at_ = base::Deadline::Never();
  std::jthread thread_;  // last: uses the members above
};

}  // namespace autodist::secure
