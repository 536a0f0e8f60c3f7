#include "secure/pump.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/thread.h"

namespace autodist::secure {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr size_t kBufferSize = 64 * 1024;
constexpr int kMaxRounds = 64;  // of one pump, before the others have their turn
// The time to send pending data after the local side has closed its socket, and then for the other
// side to end too: closing earlier could discard data that it has not yet read.
constexpr milliseconds kGoneLimit{10'000};
constexpr milliseconds kLingerLimit{1'000};

bool TryAgain() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

Pump::State Pump::Advance() {
  bool moved = true;
  for (int round = 0; round < kMaxRounds && moved; ++round) moved = MoveSome();
  if (!broken_ && session_->Flush() == Progress::kBroken) broken_ = true;
  if (broken_) {
    WriteLocal(to_local_);  // received earlier
    shutdown(local_.get(), SHUT_RDWR);
    return State::kOver;
  }
  if (local_gone_ && flushed() && !lingers_) {
    lingers_ = true;
    deadline_ = Deadline::After(kLingerLimit);
  }
  const bool ended = flushed() && network_ended_ && to_local_.empty();
  if (ended || (deadline_ && deadline_->Expired())) return State::kOver;
  return moved ? State::kMore : State::kWaits;
}

// Returns whether any data was moved.
bool Pump::MoveSome() {
  if (broken_) return false;
  bool moved = ReadNetwork();
  moved |= WriteLocal(to_local_);
  moved |= ReadLocal();
  return moved;
}

bool Pump::ReadNetwork() {
  if (!to_local_.empty() || network_ended_) return false;
  std::array<char, kBufferSize> bytes;
  size_t got = 0;
  const Progress progress = session_->Read(bytes, got);
  if (progress == Progress::kDone) {
    WriteLocal({bytes.data(), got});
    return true;
  }
  broken_ = progress == Progress::kBroken;
  if (progress == Progress::kEnded) {
    network_ended_ = true;
    shutdown(local_.get(), SHUT_WR);
  }
  return false;
}

// Keeps what does not fit; drops the bytes if the local side no longer reads.
bool Pump::WriteLocal(std::string_view bytes) {
  if (bytes.empty()) return false;
  ssize_t put = local_gone_ ? -1 : 0;
  if (!local_gone_)
    put = send(local_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const bool waits = put < 0 && !local_gone_ && TryAgain();
  if (put < 0 && !waits) OnLocalGone();
  const size_t passed = waits ? 0 : put < 0 ? bytes.size() : static_cast<size_t>(put);
  to_local_ = std::string(bytes.substr(passed));
  return passed > 0;
}

bool Pump::ReadLocal() {
  if (local_ended_ || session_->has_to_send()) {
    const Progress flushed = session_->Flush();
    broken_ |= flushed == Progress::kBroken;
    if (local_ended_ || flushed != Progress::kDone) return false;
  }
  std::array<char, kBufferSize> bytes;
  const ssize_t got = recv(local_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && TryAgain()) return false;
  if (got > 0) {
    session_->Write({bytes.data(), static_cast<size_t>(got)});
    return true;
  }
  local_ended_ = true;
  session_->WriteEnd();
  end_written_ = true;
  pollfd local{local_.get(), 0, 0};
  if (poll(&local, 1, 0) > 0 && (local.revents & POLLHUP) != 0) OnLocalGone();
  return true;
}

void Pump::OnLocalGone() {
  if (!local_gone_) deadline_ = Deadline::After(kGoneLimit);
  local_gone_ = true;
}

uint32_t Pump::network_events() const {
  const bool reads = to_local_.empty() && !network_ended_;
  return (reads ? EPOLLIN : 0U) | (session_->has_to_send() ? EPOLLOUT : 0U);
}

uint32_t Pump::local_events() const {
  const bool reads = !local_ended_ && !session_->has_to_send();
  return (reads ? EPOLLIN : 0U) | (to_local_.empty() ? 0U : EPOLLOUT);
}

void PumpUntilOver(Pump& pump) {
  for (;;) {
    const Pump::State state = pump.Advance();
    if (state == Pump::State::kOver) return;
    // epoll's event bits equal poll's. A descriptor without events would still report a hang-up, so
    // it is left out.
    const auto polled = [](int fd, uint32_t events) {
      return pollfd{events == 0 ? -1 : fd, static_cast<short>(events), 0};
    };
    pollfd both[] = {polled(pump.network(), pump.network_events()),
                     polled(pump.local(), pump.local_events())};
    const Deadline deadline = state == Pump::State::kMore
                                  ? Deadline::After(milliseconds(0))
                                  : pump.deadline().value_or(Deadline::Never());
    poll(both, 2, deadline.PollTimeout());
  }
}

Result<std::shared_ptr<PumpThread>> PumpThread::Start() {
  std::shared_ptr<PumpThread> pumps(new PumpThread);
  pumps->epoll_.Reset(epoll_create1(EPOLL_CLOEXEC));
  AD_RETURN_IF_ERROR(pumps->tasks_.Open());
  epoll_event event{};
  event.events = EPOLLIN;
  if (!pumps->epoll_.valid() ||
      epoll_ctl(pumps->epoll_.get(), EPOLL_CTL_ADD, pumps->tasks_.fd(), &event) != 0) {
    return ErrnoError(errno, "epoll");
  }
  AD_ASSIGN_OR_RETURN(pumps->thread_,
                      base::StartThreadWithoutSignals([&own = *pumps] { own.Run(); }));
  return pumps;
}

void PumpThread::Stop(Deadline deadline) {
  if (!thread_.joinable()) return;
  tasks_.Post([this, deadline] {
    stopping_ = true;
    stop_at_ = deadline;
  });
  thread_.join();
}

Result<base::UniqueFd> PumpThread::Add(std::unique_ptr<Session> session) {
  AD_ASSIGN_OR_RETURN(base::FdPair sockets, base::StreamSocketPair());
  auto pump = std::make_shared<Pump>(std::move(session), std::move(sockets.first));
  tasks_.Post([this, pump] {
    const uint64_t number = ++added_;
    pumps_.emplace(number, Watched{pump});
    Advance(number);
  });
  return std::move(sockets.second);
}

void PumpThread::Watch(int fd, uint32_t events, uint32_t& now, uint64_t number) {
  if (events == now) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = number;
  // With no events epoll would still report a hang-up.
  const int change = events == 0 ? EPOLL_CTL_DEL : now == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  epoll_ctl(epoll_.get(), change, fd, &event);
  now = events;
}

void PumpThread::Advance(uint64_t number) {
  const auto found = pumps_.find(number);
  if (found == pumps_.end()) return;
  auto& [pump, network, local] = found->second;
  busy_.erase(number);
  const Pump::State state = pump->Advance();
  if (state == Pump::State::kMore) busy_.insert(number);
  const bool over = state == Pump::State::kOver;
  Watch(pump->network(), over ? 0 : pump->network_events(), network, number);
  Watch(pump->local(), over ? 0 : pump->local_events(), local, number);
  if (const auto deadline = pump->deadline()) due_.insert_or_assign(number, *deadline);
  if (!over) return;
  due_.erase(number);
  pumps_.erase(found);
}

void PumpThread::AdvanceLate() {
  std::vector<uint64_t> late(busy_.begin(), busy_.end());
  for (const auto& [number, deadline] : due_) {
    if (deadline.Expired()) late.push_back(number);
  }
  for (const uint64_t number : late) Advance(number);
}

bool PumpThread::MayStop() const {
  return stopping_ && (stop_at_.Expired() || std::ranges::all_of(pumps_, [](const auto& entry) {
                         return entry.second.pump->flushed();
                       }));
}

void PumpThread::Run() {
  while (!MayStop()) {
    Deadline next = busy_.empty() ? stop_at_ : Deadline::After(milliseconds(0));
    for (const auto& [number, deadline] : due_) next = std::min(next, deadline);
    std::array<epoll_event, 128> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                 next.PollTimeout());
    for (int i = 0; i < count; ++i) Advance(events[static_cast<size_t>(i)].data.u64);
    AdvanceLate();
    tasks_.RunAll();
  }
  pumps_.clear();
}

}  // namespace autodist::secure
