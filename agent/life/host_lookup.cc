#include "agent/life/host_lookup.h"

#include <mutex>
#include <utility>

#include "base/name_service.h"
#include "base/task_queue.h"
#include "base/thread.h"

namespace autodist::agent {

struct HostLookup::Answer {
  base::TaskQueue wake;
  std::mutex mutex;
  // Guarded by mutex:
  bool over = false;
  bool failed = false;  // to start
  std::vector<base::IpAddress> addresses;
};

HostLookup::HostLookup(const std::string& host) : answer_(std::make_shared<Answer>()) {
  answer_->over = !answer_->wake.Open().ok();
  if (answer_->over) return;
  auto thread = base::StartThread([host, answer = answer_] {
    auto addresses = base::AddressesOf(host);
    {
      const std::lock_guard lock(answer->mutex);
      if (addresses.ok()) answer->addresses = *std::move(addresses);
      answer->over = true;
    }
    answer->wake.Post([] {});
  });
  if (thread.ok()) {
    thread->detach();
  } else {
    const std::lock_guard lock(answer_->mutex);
    answer_->over = answer_->failed = true;
  }
}

int HostLookup::fd() const {
  const std::lock_guard lock(answer_->mutex);
  return answer_->failed ? -1 : answer_->wake.fd();
}

bool HostLookup::over() const {
  const std::lock_guard lock(answer_->mutex);
  return answer_->over;
}

std::vector<base::IpAddress> HostLookup::Addresses() const {
  const std::lock_guard lock(answer_->mutex);
  return answer_->addresses;
}

}  // namespace autodist::agent
