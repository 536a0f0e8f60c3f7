#include "top/requests.h"

#include <signal.h>

#include <stop_token>
#include <utility>

#include "base/thread.h"
#include "control/job_client.h"

namespace autodist::top {

void Requests::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  const auto answer = [this](Status done) {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = std::move(done);
      stopping_ = false;
    }
    changed_();
  };
  auto thread = base::StartThread([this, answer] {
    const auto client = control::JobClient::Connect(job_id_);
    answer(client.ok() ? client->Signal(SIGINT) : client.status());
  });
  if (!thread.ok()) return answer(thread.status());
  stop_thread_ = *std::move(thread);
}

void Requests::TakeStacks() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(taking_, true)) return;
  }
  const auto answer = [this](Result<v1::JobStacks> stacks) {
    {
      const std::lock_guard lock(mutex_);
      stacks_ = std::move(stacks);
      taking_ = false;
    }
    changed_();
  };
  auto thread = base::StartThread([this, answer](const std::stop_token& stop) {
    const auto client = control::JobClient::Connect(job_id_);
    answer(client.ok() ? client->GetStacks({}, true, stop) : client.status());
  });
  if (!thread.ok()) return answer(thread.status());
  stacks_thread_ = *std::move(thread);
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
