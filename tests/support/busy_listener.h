// A process that listens at a unix socket with a full backlog and accepts no connection.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/unix_socket.h"

namespace autodist::test {

class BusyListener {
 public:
  explicit BusyListener(const std::string& path) {
    auto listener = base::ListenAt(path);
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    do {
      errno = 0;
      waiting_.push_back(base::ConnectToThisUser(path, SOCK_NONBLOCK));
    } while (waiting_.back().valid());
    EXPECT_EQ(errno, EAGAIN);
  }
  // Accepts one of the connections.
  void Accept() const { base::UniqueFd(accept(listener_.get(), nullptr, nullptr)); }

 private:
  base::UniqueFd listener_;
  std::vector<base::UniqueFd> waiting_;
};

}  // namespace autodist::test
