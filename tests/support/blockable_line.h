// A connection between gRPC and an agent that a test can block.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "base/fd.h"

namespace autodist::test {

// A connection that can be blocked, like that to an sshd.
class BlockableLine {
 public:
  // Returns the near end for this far end.
  base::UniqueFd To(base::UniqueFd far) {
    signal(SIGPIPE, SIG_IGN);  // when one end has closed
    far_ = std::move(far);
    auto ends = *base::StreamSocketPair();
    once_more_.Reset(dup(ends.first.get()));
    near_ = std::move(ends.second);
    to_agent_ = std::jthread([this] { Pass(near_.get(), far_.get(), stopped_); });
    from_agent_ = std::jthread([this] { Pass(far_.get(), near_.get(), never_); });
    return std::move(ends.first);
  }
  ~BlockableLine() { End(); }
  void End() {
    for (const base::UniqueFd* fd : {&near_, &far_}) shutdown(fd->get(), SHUT_RDWR);
  }
  // Accepts no more data and is full; the agent's data still arrives.
  void Stop() {
    stopped_ = true;
    const std::string filler(1 << 16, 'x');  // never passed on
    const auto fill = [&] {
      return send(once_more_.get(), filler.data(), filler.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    };
    fill();  // ends a read in progress
    to_agent_.join();
    while (fill()) continue;
  }
  void HangUp() {
    EXPECT_TRUE(stopped_);
    shutdown(once_more_.get(), SHUT_RDWR);
  }

 private:
  void Pass(int from, int to, const std::atomic<bool>& stopped) {
    char buffer[65536];
    while (!stopped) {
      const auto got = base::ReadSome(from, buffer, sizeof buffer, base::Deadline::Never());
      if (!got.ok() || *got == 0 || stopped) break;
      if (!base::WriteAll(to, {buffer, *got}, base::Deadline::Never()).ok()) return;
    }
    if (!stopped_) shutdown(to, SHUT_RDWR);
  }

  base::UniqueFd once_more_;
  base::UniqueFd near_;
  base::UniqueFd far_;
  std::atomic<bool> stopped_{false};
  const std::atomic<bool> never_{false};
  std::jthread to_agent_;
  std::jthread from_agent_;
};

}  // namespace autodist::test
