#include "transport/ssh_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace autodist::transport {

using base::Deadline;

Result<std::unique_ptr<SshLoop>> SshLoop::Create() {
  std::unique_ptr<SshLoop> loop(new SshLoop);
  loop->epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  loop->wake_.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  if (!loop->epoll_.valid() || !loop->wake_.valid() ||
      epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->wake_.get(), &event) != 0) {
    return ErrnoError(errno, "opening the SSH loop's descriptors");
  }
  loop->thread_ = std::thread(&SshLoop::Run, loop.get());
  return loop;
}

SshLoop::~SshLoop() {
  if (!thread_.joinable()) return;
  Post([this] {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  });
  thread_.join();
}

void SshLoop::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  const uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);
}

void SshLoop::Add(std::shared_ptr<Pollable> pollable) {
  Post([this, pollable = std::move(pollable)] {
    pollables_[pollable.get()] = pollable;
    Advance(pollable.get());
  });
}

void SshLoop::Nudge(std::weak_ptr<Pollable> weak) {
  Post([this, weak = std::move(weak)] {
    if (const auto pollable = weak.lock()) Advance(pollable.get());
  });
}

void SshLoop::Watch(int fd, uint32_t events, Pollable* pollable) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = pollable;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
}

void SshLoop::Advance(Pollable* pollable) {
  const auto found = pollables_.find(pollable);
  if (found != pollables_.end() && !pollable->Advance()) pollables_.erase(found);
}

void SshLoop::Run() {
  for (;;) {
    Deadline next = Deadline::Never();
    for (const auto& [raw, pollable] : pollables_) {
      if (pollable->NextDeadline() < next) next = pollable->NextDeadline();
    }
    std::array<epoll_event, 128> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 next.PollTimeout());
    for (int i = 0; i < count; ++i) {
      // One that is gone already is not found any more.
      Advance(static_cast<Pollable*>(events[static_cast<size_t>(i)].data.ptr));
    }
    if (next.Expired()) {
      std::vector<Pollable*> late;
      for (const auto& [raw, pollable] : pollables_) {
        if (pollable->NextDeadline().Expired()) late.push_back(raw);
      }
      for (Pollable* pollable : late) Advance(pollable);
    }
    uint64_t ignored = 0;
    (void)!read(wake_.get(), &ignored, sizeof ignored);
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
    const std::lock_guard lock(mutex_);
    if (stopping_) break;
  }
  for (const auto& [raw, pollable] : pollables_) pollable->Abandon();
  pollables_.clear();
}

}  // namespace autodist::transport
