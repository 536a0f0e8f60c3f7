// The event loop of SSH: one thread, with epoll, that advances all sessions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>

#include "autodist/status.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/task_queue.h"

namespace autodist::ssh {

// A state machine that never blocks. All calls come from the loop's thread.
class Pollable {
 public:
  virtual ~Pollable() = default;
  // Called once after Add, then whenever a watched descriptor is ready, the deadline has passed, or
  // Nudge was called. False when it is done and has closed its descriptors.
  virtual bool Advance() = 0;
  virtual base::Deadline NextDeadline() const = 0;  // changes only in Advance
  // Called instead of Advance when the loop ends first.
  virtual void Abandon() = 0;
};

class SshLoop {
 public:
  static Result<std::unique_ptr<SshLoop>> Create();
  // Abandons the remaining pollables and joins the thread.
  ~SshLoop();

  // Thread-safe; do not block.
  void Add(std::shared_ptr<Pollable> pollable);
  void Nudge(std::weak_ptr<Pollable> pollable);

  // Call only from Advance. `events` are epoll's; 0: none.
  void Watch(int fd, uint32_t events, Pollable* pollable);

 private:
  using Due = std::multimap<base::Deadline, Pollable*>;
  struct Entry {
    std::shared_ptr<Pollable> pollable;
    Due::iterator due;
  };

  SshLoop() = default;
  void Run();
  void Advance(Pollable* pollable);
  void AdvanceLate();

  base::UniqueFd epoll_;
  base::TaskQueue tasks_;
  // Used only by the thread:
  std::unordered_map<Pollable*, Entry> pollables_;
  Due due_;  // of all pollables, the earliest first
  bool stopping_ = false;
  std::jthread thread_;
};

}  // namespace autodist::ssh
