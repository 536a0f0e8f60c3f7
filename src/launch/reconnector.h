// Connects with nodes again, on a limited number of threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "autodist/status.h"
#include "base/backoff.h"
#include "base/deadline.h"
#include "launch/node_link.h"

namespace autodist::launch {

// A node that fails goes to the end of the queue, so that nodes that do not answer keep no thread
// from the others for longer than one try takes. Not thread-safe; does not block but in Stop.
class Reconnector {
 public:
  using Link = Result<std::shared_ptr<NodeLink>>;
  // One try, which may block until it has succeeded or failed, or `stop`.
  using Try = std::function<Link(const std::stop_token& stop)>;
  // Called once, on one of the threads.
  using Done = std::function<void(Link link)>;

  // Starts the first thread, so that there is one for every order. Where no others can be started
  // later, the nodes take longer. `max_threads` is 1 at least.
  static Result<std::unique_ptr<Reconnector>> Create(size_t max_threads);
  ~Reconnector() { Stop(); }
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  struct Order {
    uint32_t node;                     // one order at a time
    std::chrono::milliseconds wait;    // before the first try
    base::Deadline deadline;           // of the last
    std::shared_ptr<NodeLink> broken;  // let go of first, which may take seconds
    Try try_once;
    Done done;
  };
  // Tries until a link is there, or the agent has gone (kAborted), or the deadline has come.
  void Start(Order order);
  // The node's order ends at once, with the failure of its last try.
  void GiveUp(uint32_t node);
  void GiveUpAll();
  // GiveUpAll, and waits until all has ended. Nothing may follow.
  void Stop();

 private:
  using Clock = base::Deadline::Clock;
  using Time = Clock::time_point;
  struct Pending;
  using Queue = std::multimap<Time, std::shared_ptr<Pending>>;  // by when their turn is
  struct Pending {
    Order order;
    std::stop_source stop = {};
    base::Backoff backoff = base::Backoff();
    bool tried = false;
    Link last = Error(StatusCode::kCancelled, "given up");
    std::optional<Queue::iterator> place = {};  // guarded by mutex_; absent: a thread has it
  };

  explicit Reconnector(size_t max_threads) : max_threads_(max_threads) {}
  Status StartOne();
  void Run();
  void Advance(const std::shared_ptr<Pending>& pending);
  void Wait(const std::shared_ptr<Pending>& pending, std::chrono::milliseconds time);
  void Enqueue(const std::shared_ptr<Pending>& pending, Time until);  // mutex_ held
  void Finish(const std::shared_ptr<Pending>& pending);

  const size_t max_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<uint32_t, std::shared_ptr<Pending>> pending_;  // by node
  Queue queue_;
  size_t busy_ = 0;  // threads
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // not more than are needed; for the caller's thread
};

}  // namespace autodist::launch
