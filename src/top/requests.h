// What is asked of a job's autodist besides how it is, on threads of its own.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "autodist/status.h"
#include "autodist/v1/job.pb.h"

namespace autodist::top {

// Thread-safe but for the destructor, which waits for no answer.
class Requests {
 public:
  // `changed` is called on any thread when there is an answer; must not block.
  Requests(std::string job_id, std::function<void()> changed)
      : job_id_(std::move(job_id)), changed_(std::move(changed)) {}

  // As Ctrl-C in its terminal. Nothing is done while the last one of the kind is on its way.
  void Stop();
  void TakeStacks();

  // The answers, each once.
  std::optional<Status> Stopped();
  std::optional<Result<v1::JobStacks>> Stacks();

 private:
  const std::string job_id_;
  const std::function<void()> changed_;
  std::mutex mutex_;  // guards the rest but the threads
  bool stopping_ = false;
  bool taking_ = false;
  std::optional<Status> stopped_;
  std::optional<Result<v1::JobStacks>> stacks_;
  std::jthread stop_thread_;  // last: use the rest
  std::jthread stacks_thread_;
};

}  // namespace autodist::top
