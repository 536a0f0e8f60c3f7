// Forwards TCP connections and records them, like a listener on the network; tests search the
// records for secrets.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/listen_address.h"
#include "base/tcp_connect.h"
#include "support/limit.h"

namespace autodist::test {

class RecordingProxy {
 public:
  explicit RecordingProxy(uint16_t to) : to_(to) {
    auto listener = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
    EXPECT_TRUE(listener.ok());
    port_ = listener->address.port;
    listener_ = std::move(listener->socket);
    threads_.emplace_back([this] { Serve(); });
  }
  ~RecordingProxy() {
    ending_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  RecordingProxy(const RecordingProxy&) = delete;
  RecordingProxy& operator=(const RecordingProxy&) = delete;

  uint16_t port() const { return port_; }

  // What clients have sent, and the answers, of all connections.
  std::string sent() const { return Copy(sent_); }
  std::string answered() const { return Copy(answered_); }

 private:
  std::string Copy(const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return text;
  }

  void Serve() {
    struct Pair {
      base::UniqueFd near;
      base::UniqueFd far;
      bool near_open = true;
      bool far_open = true;
    };
    std::vector<Pair> pairs;
    while (!ending_) {
      std::vector<pollfd> polled = {{listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs) {
        polled.push_back({pair.near_open ? pair.near.get() : -1, POLLIN, 0});
        polled.push_back({pair.far_open ? pair.far.get() : -1, POLLIN, 0});
      }
      poll(polled.data(), polled.size(), 10);
      for (size_t i = 0; i < pairs.size(); ++i) {
        Pair& pair = pairs[i];
        if (polled[2 * i + 1].revents != 0) {
          pair.near_open = Pass(pair.near.get(), pair.far.get(), sent_);
        }
        if (polled[2 * i + 2].revents != 0) {
          pair.far_open = Pass(pair.far.get(), pair.near.get(), answered_);
        }
      }
      if (polled[0].revents == 0) continue;
      base::UniqueFd near(accept(listener_.get(), nullptr, nullptr));
      auto connecting = base::StartConnecting(*base::IpAddress::Parse("127.0.0.1"), to_);
      if (!near.valid() || std::holds_alternative<int>(connecting)) continue;
      base::UniqueFd far = std::get<base::UniqueFd>(std::move(connecting));
      pollfd writable{far.get(), POLLOUT, 0};
      poll(&writable, 1, base::Deadline::After(kLimit).PollTimeout());
      pairs.push_back({std::move(near), std::move(far)});
    }
  }

  // Returns false at the end of the direction.
  bool Pass(int from, int to, std::string& record) {
    std::array<char, 65536> bytes;
    const ssize_t got = recv(from, bytes.data(), bytes.size(), 0);
    if (got <= 0) {
      shutdown(to, SHUT_WR);
      return false;
    }
    const std::string_view text(bytes.data(), static_cast<size_t>(got));
    {
      const std::lock_guard lock(mutex_);
      record += text;
    }
    return base::WriteAll(to, text, base::Deadline::After(kLimit)).ok();
  }

  const uint16_t to_;
  uint16_t port_ = 0;
  base::UniqueFd listener_;
  std::atomic<bool> ending_ = false;
  mutable std::mutex mutex_;
  std::string sent_;  // guarded by mutex_, as is the next
  std::string answered_;
  std::vector<std::thread> threads_;
};

}  // namespace autodist::test
