#include "ssh/ssh_loop.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/thread.h"

namespace autodist::ssh {

using base::Deadline;

Result<std::unique_ptr<SshLoop>> SshLoop::Create() {
  std::unique_ptr<SshLoop> loop(new SshLoop);
  loop->epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  AD_RETURN_IF_ERROR(loop->tasks_.Open());
  epoll_event event{};
  event.events = EPOLLIN;
  if (!loop->epoll_.valid() ||
      epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->tasks_.fd(), &event) != 0) {
    return ErrnoError(errno, "epoll");
  }
  AD_ASSIGN_OR_RETURN(loop->thread_, base::StartThread([&own = *loop] { own.Run(); }));
  return loop;
}

SshLoop::~SshLoop() {
  if (!thread_.joinable()) return;
  tasks_.Post([this] { stopping_ = true; });
  thread_.join();
}

void SshLoop::Add(std::shared_ptr<Pollable> pollable) {
  tasks_.Post([this, pollable = std::move(pollable)] {
    const auto due = due_.emplace(Deadline::Never(), pollable.get());
    pollables_[pollable.get()] = {pollable, due};
    Advance(pollable.get());
  });
}

void SshLoop::Nudge(std::weak_ptr<Pollable> weak) {
  tasks_.Post([this, weak = std::move(weak)] {
    if (const auto pollable = weak.lock()) Advance(pollable.get());
  });
}

void SshLoop::Watch(int fd, uint32_t events, Pollable* pollable) {
  if (events == 0) {  // epoll would still report a hang-up
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    return;
  }
  epoll_event event{};
  event.events = events;
  event.data.ptr = pollable;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
  }
}

void SshLoop::Advance(Pollable* pollable) {
  const auto found = pollables_.find(pollable);
  if (found == pollables_.end()) return;
  const bool goes_on = pollable->Advance();
  due_.erase(found->second.due);
  if (goes_on) {
    found->second.due = due_.emplace(pollable->NextDeadline(), pollable);
  } else {
    pollables_.erase(found);
  }
}

void SshLoop::AdvanceLate() {
  std::vector<Pollable*> late;
  for (const auto& [deadline, pollable] : due_) {
    if (!deadline.Expired()) break;
    late.push_back(pollable);
  }
  for (Pollable* pollable : late) Advance(pollable);
}

void SshLoop::Run() {
  while (!stopping_) {
    const Deadline next = due_.empty() ? Deadline::Never() : due_.begin()->first;
    std::array<epoll_event, 128> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 next.PollTimeout());
    for (int i = 0; i < count; ++i) {
      // A pollable that has been removed is not found.
      Advance(static_cast<Pollable*>(events[static_cast<size_t>(i)].data.ptr));
    }
    AdvanceLate();
    tasks_.RunAll();
  }
  for (const auto& [raw, entry] : pollables_) entry.pollable->Abandon();
  pollables_.clear();
}

}  // namespace autodist::ssh
