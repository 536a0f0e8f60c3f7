// How a job stands, as it is told to other commands.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "autodist/v1/job.pb.h"

namespace autodist::chief {

// For one thread, which it does not block.
class StatusBoard {
 public:
  using Tell = std::function<void(const v1::JobStatus& status)>;
  // Runs the task, which may wait for a disk; one after another.
  using InBackground = std::function<void(std::function<void()> task)>;

  // `tell` is called in the background; it may miss a status that another one has followed soon.
  StatusBoard(Tell tell, InBackground in_background)
      : tell_(std::move(tell)), in_background_(std::move(in_background)) {}

  // Tells it, if it is another one than before.
  void Publish(v1::JobStatus status);
  // As it was told last.
  const v1::JobStatus& published() const { return published_; }

 private:
  struct Pending {
    std::mutex mutex;
    std::unique_ptr<v1::JobStatus> status;  // guarded by mutex; null: it has been told
  };

  const Tell tell_;
  const InBackground in_background_;
  v1::JobStatus published_;
  const std::shared_ptr<Pending> pending_ = std::make_shared<Pending>();
};

}  // namespace autodist::chief
