// Reconnects to nodes on a limited number of threads.
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

// A node that fails goes to the end of the queue, so that unresponsive nodes occupy a thread only
// for one attempt. Not thread-safe; only Stop blocks.
class Reconnector {
 public:
  using Link = Result<std::shared_ptr<NodeLink>>;
  // One attempt, which may block until it has succeeded or failed, or `stop`.
  using Try = std::function<Link(const std::stop_token& stop)>;
  // Called once, on one of the threads.
  using Done = std::function<void(Link link)>;

  // Starts the first thread, so that at least one exists. If others cannot be started later, the
  // nodes take longer. `max_threads` is at least 1.
  static Result<std::unique_ptr<Reconnector>> Create(size_t max_threads);
  ~Reconnector() { Stop(); }
  Reconnector(const Reconnector&) = delete;
  Reconnector& operator=(const Reconnector&) = delete;

  struct Order {
    uint32_t node;                     // one order at a time
    std::chrono::milliseconds wait;    // before the first attempt
    base::Deadline deadline;           // of the last attempt
    std::shared_ptr<NodeLink> broken;  // ended and released first, which may take seconds
    Try try_once;
    Done done;
  };
  // Retries until it is connected, the agent has provably ended (ProofOfEnd), or the deadline
  // has passed.
  void Start(Order order);
  // Ends the node's order with the failure of the last attempt.
  void GiveUp(uint32_t node);
  void GiveUpAll();
  // The failure of the node's last attempt; OK: none has failed since Start, or there is no order.
  Status LastFailure(uint32_t node) const;
  // Cancels all orders, and waits for their end. No further calls are allowed.
  void Stop();

 private:
  using Clock = base::Deadline::Clock;
  using Time = Clock::time_point;
  struct Pending;
  using Queue = std::multimap<Time, std::shared_ptr<Pending>>;  // by the time of the next attempt
  struct Pending {
    Order order;
    std::stop_source stop = {};
    base::Backoff backoff = base::Backoff();
    bool tried = false;                                     // as `last`
    Link last = Error(StatusCode::kCancelled, "given up");  // changed with mutex_, by one thread
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
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::map<uint32_t, std::shared_ptr<Pending>> pending_;  // by node
  Queue queue_;
  size_t busy_ = 0;  // threads
  bool stopping_ = false;
  std::vector<std::jthread> threads_;  // only as many as needed; used by the caller's thread
};

}  // namespace autodist::launch
