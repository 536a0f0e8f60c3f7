#include "top/requests.h"

#include <signal.h>

#include <stop_token>
#include <utility>

#include "control/job_client.h"

namespace autodist::top {

void Requests::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  stop_thread_ = std::jthread([this] {
    const auto client = control::JobClient::Connect(job_id_);
    Status done = client.ok() ? client->Signal(SIGINT) : client.status();
    {
      const std::lock_guard lock(mutex_);
      stopped_ = std::move(done);
      stopping_ = false;
    }
    changed_();
  });
}

void Requests::TakeStacks() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(taking_, true)) return;
  }
  stacks_thread_ = std::jthread([this](const std::stop_token& stop) {
    const auto client = control::JobClient::Connect(job_id_);
    Result<v1::JobStacks> stacks = client.ok() ? client->GetStacks({}, stop) : client.status();
    {
      const std::lock_guard lock(mutex_);
      stacks_ = std::move(stacks);
      taking_ = false;
    }
    changed_();
  });
}

std::optional<Status> Requests::Stopped() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stopped_, std::nullopt);
}

std::optional<Result<v1::JobStacks>> Requests::Stacks() {
  const std::lock_guard lock(mutex_);
  return std::exchange(stacks_, std::nullopt);
}

}  // namespace autodist::top
