// A transport with faults, for tests: connects to local programs, and delays, splits or loses
// bytes.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/local.h"

namespace autodist::test {

// The faults of one stream.
struct Faults {
  enum class Break {
    kNone,
    kEnd,      // the remote end closes
    kReset,    // "connection reset by peer"
    kSilence,  // no more bytes in either direction
  };
  Break how = Break::kNone;
  bool counts_up = false;  // counts the bytes that the chief sends, otherwise the program's
  int64_t at = 0;          // breaks after this number of bytes
  // Bytes count from when this is true. Null: all do. Must outlive the stream.
  const std::atomic<bool>* armed = nullptr;
  Status failure;  // the error that the stream then has

  size_t piece = 65536;       // bytes that pass at once
  int64_t in_pieces = 65536;  // bytes of each direction that are split; the rest is not
  bool holds_back = false;    // each piece waits for the next one, or for a moment
  std::string noise;          // comes before the program's output

  Status start;                      // replaces the stream if it is an error
  std::vector<std::string> instead;  // replaces the program

  std::function<void()> broken;  // called once, when it breaks
};

// Two ends of a connection that can be reset; a socket pair cannot always.
inline base::FdPair TcpPair() {
  const base::UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  base::FdPair pair{base::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}};
  if (bind(listener.get(), generic, size) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), generic, &size) != 0 ||
      connect(pair.first.get(), generic, size) != 0) {
    return {};
  }
  pair.second.Reset(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int on = 1;
  for (const base::UniqueFd* end : {&pair.first, &pair.second}) {
    setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return pair;
}

// Thread-safe, like all streams.
class FaultyStream final : public transport::Stream {
 public:
  FaultyStream(std::unique_ptr<transport::Stream> program, Faults faults)
      : faults_(std::move(faults)), program_(std::move(program)), far_(program_->TakeSocket()) {
    base::FdPair sockets = TcpPair();
    taken_ = std::move(sockets.first);
    near_ = std::move(sockets.second);
    base::FdPair stop = *base::Pipe();
    stop_ = std::move(stop.first);
    stopper_ = std::move(stop.second);
    down_.pending = faults_.noise;
    down_.passed = -static_cast<int64_t>(faults_.noise.size());
    thread_ = std::jthread([this] { Pass(); });
  }
  ~FaultyStream() override {
    stopper_.Reset();
    thread_.join();
  }

  base::UniqueFd TakeSocket() override { return std::move(taken_); }
  std::string StderrTail() const override { return program_->StderrTail(); }
  bool WaitClosed(base::Deadline deadline) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline.when(), [this] { return closed_; });
  }
  Status Failure() const override {
    const std::lock_guard lock(mutex_);
    return broken_ ? faults_.failure : OkStatus();
  }

 private:
  static constexpr int kHoldMs = 1;

  struct Flow {
    std::string pending;  // read and not yet written
    bool held = false;
    bool ended = false;
    int64_t passed = 0;
  };

  // Runs until the chief has closed, or the stream is destroyed or reset.
  void Pass() {
    while (!BreaksNow()) {
      std::array<pollfd, 3> fds = {{{stop_.get(), POLLIN, 0},
                                    Next(down_, far_.get(), near_.get()),
                                    Next(up_, near_.get(), far_.get())}};
      const bool held = down_.held || up_.held;
      if (poll(fds.data(), fds.size(), held ? kHoldMs : -1) < 0) continue;
      if (fds[0].revents != 0) return Close();
      Move(down_, fds[1].revents, far_.get(), near_.get());
      Move(up_, fds[2].revents, near_.get(), far_.get());
      if (up_.ended) return Close();
      if (down_.ended && !closed()) {
        shutdown(near_.get(), SHUT_WR);
        SetClosed();
      }
    }
    Break();
  }

  bool Counted(const Flow& flow) const {
    return faults_.how != Faults::Break::kNone && (&flow == &up_) == faults_.counts_up;
  }
  bool BreaksNow() {
    const Flow& flow = faults_.counts_up ? up_ : down_;
    if (faults_.armed && !*faults_.armed) uncounted_ = flow.passed;
    return Counted(flow) && flow.passed - uncounted_ >= faults_.at;
  }

  static pollfd Next(const Flow& flow, int from, int to) {
    if (flow.ended || flow.held) return {-1, 0, 0};
    return flow.pending.empty() ? pollfd{from, POLLIN, 0} : pollfd{to, POLLOUT, 0};
  }

  void Move(Flow& flow, short ready, int from, int to) {
    if (std::exchange(flow.held, false) || ready == 0) return;
    if (flow.pending.empty()) {
      Read(flow, from);
    } else {
      Write(flow, to);
    }
  }

  void Read(Flow& flow, int from) {
    std::array<char, 65536> buffer;
    const bool slow = flow.passed < faults_.in_pieces;
    size_t most = slow ? std::min(faults_.piece, buffer.size()) : buffer.size();
    if (Counted(flow)) {
      most = std::min(most, static_cast<size_t>(faults_.at + uncounted_ - flow.passed));
    }
    const ssize_t got = recv(from, buffer.data(), most, 0);
    if (got <= 0) {
      flow.ended = true;
      return;
    }
    flow.pending.assign(buffer.data(), static_cast<size_t>(got));
    flow.held = slow && faults_.holds_back;
  }

  void Write(Flow& flow, int to) {
    const ssize_t put =
        send(to, flow.pending.data(), flow.pending.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0) {  // a receiver that has closed may still send data
      flow.pending.clear();
      return;
    }
    flow.pending.erase(0, static_cast<size_t>(put));
    flow.passed += put;
  }

  void Break() {
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    if (faults_.how == Faults::Break::kReset) {
      constexpr linger kAtOnce{1, 0};
      setsockopt(near_.get(), SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
    }
    if (faults_.how != Faults::Break::kSilence) Close();
    if (faults_.broken) faults_.broken();
    std::array<pollfd, 2> fds = {{{stop_.get(), POLLIN, 0}, {near_.get(), POLLRDHUP, 0}}};
    while (near_.valid() && poll(fds.data(), fds.size(), -1) < 0) {
    }
    Close();
  }

  void Close() {
    near_.Reset();
    far_.Reset();
    SetClosed();
  }
  void SetClosed() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  const Faults faults_;
  const std::unique_ptr<transport::Stream> program_;
  base::UniqueFd taken_;    // the chief's end
  base::UniqueFd near_;     // its other end
  base::UniqueFd far_;      // the program's output and input
  base::UniqueFd stop_;     // readable when the stream is being destroyed
  base::UniqueFd stopper_;  // closed then
  Flow down_;               // from the program to the chief
  Flow up_;
  int64_t uncounted_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;  // guarded by mutex_
  bool broken_ = false;  // guarded by mutex_
  std::jthread thread_;  // last: uses the others
};

class FaultyTransport final : public transport::Transport {
 public:
  // `next` returns the faults of each run. `prefix` comes before every argv.
  FaultyTransport(std::function<Faults()> next, std::vector<std::string> prefix)
      : next_(std::move(next)), prefix_(std::move(prefix)) {}

  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override {
    Faults faults = next_();
    AD_RETURN_IF_ERROR(faults.start);
    std::vector<std::string> command = prefix_;
    command.insert(command.end(), argv.begin(), argv.end());
    if (!faults.instead.empty()) command = faults.instead;
    AD_ASSIGN_OR_RETURN(auto program, transport::LocalTransport().Run(command, stop));
    return std::make_unique<FaultyStream>(std::move(program), std::move(faults));
  }

 private:
  const std::function<Faults()> next_;
  const std::vector<std::string> prefix_;
};

}  // namespace autodist::test
