#include "agent/stacks/stacks.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>

#include "agent/stacks/tcp_sockets.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "base/listen_address.h"
#include "base/socket_address.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using test::kLimit;

struct Parsed {
  uint64_t at = 0, cpu = 0, main_thread = 0, data = 0, read = 0, written = 0;
};

Parsed Look() {
  const std::string text = WorkSoFar(getpid(), SocketsOf("/proc/self/fd"), ReadTcpTraffic());
  Parsed found;
  EXPECT_EQ(
      std::sscanf(text.c_str(),
                  "by %" SCNu64 " ms: CPU %" SCNu64 " ms, main thread %" SCNu64 " ms, data %" SCNu64
                  " bytes, %" SCNu64 " of them read, %" SCNu64 " written",
                  &found.at, &found.cpu, &found.main_thread, &found.data, &found.read,
                  &found.written),
      6)
      << text;
  return found;
}

TEST(WorkSoFarTest, AComputingThreadIsDistinguishedFromTheMainOne) {
  const Parsed before = Look();
  std::atomic<bool> ending = false;
  std::thread busy([&] {
    while (!ending) continue;
  });
  const Deadline deadline = Deadline::After(kLimit);
  Parsed now = Look();
  while (now.cpu < before.cpu + 200 && !deadline.Expired()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // measurements take a while
    now = Look();
  }
  ending = true;
  busy.join();
  EXPECT_GE(now.cpu - before.cpu, 200u);
  EXPECT_LT(now.main_thread - before.main_thread, (now.cpu - before.cpu) / 2);
  EXPECT_GT(now.at, before.at);
}

TEST(WorkSoFarTest, OnlySentAndReceivedBytesCount) {
  const auto listener = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const base::SocketAddress to(listener->address.ip, listener->address.port);
  const base::UniqueFd sender(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(sender.get(), to.get(), to.length()), 0);
  const base::UniqueFd receiver(accept(listener->socket.get(), nullptr, nullptr));
  const Parsed before = Look();
  const std::string text(100'000, 'x');
  ASSERT_EQ(send(sender.get(), text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  std::string got(text.size(), ' ');
  ASSERT_EQ(recv(receiver.get(), got.data(), got.size(), MSG_WAITALL),
            static_cast<ssize_t>(got.size()));
  EXPECT_GE(Look().data - before.data, text.size());
}

// The test itself reads some files of /proc.
TEST(WorkSoFarTest, WhatIsReadIsDistinguishedFromWhatIsWritten) {
  const base::UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const base::UniqueFd zeros(open("/dev/zero", O_RDONLY | O_CLOEXEC));
  std::string text(20'000'000, 'x');
  const Parsed at_first = Look();
  ASSERT_EQ(write(nowhere.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const Parsed after_write = Look();
  EXPECT_GE(after_write.written - at_first.written, text.size());
  EXPECT_LT(after_write.read - at_first.read, text.size());
  ASSERT_EQ(read(zeros.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const Parsed after_read = Look();
  EXPECT_GE(after_read.read - after_write.read, text.size());
  EXPECT_LT(after_read.written - after_write.written, text.size());
  EXPECT_GE(after_read.data - at_first.data, 2 * text.size());
}

TEST(WorkSoFarTest, AnEndedProcessHasNone) { EXPECT_EQ(WorkSoFar(1 << 30, {}, {}), ""); }

// A connection that was refused is known to the kernel only while its socket is closed.
TEST(ConnectionWatchTest, SeesRefusedConnections) {
  auto listener = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(listener.ok());
  const base::SocketAddress to(listener->address.ip, listener->address.port);
  const std::string refusing = listener->address.ToString();
  ConnectionWatch watch;
  watch.Begin();
  {
    const base::UniqueFd connected(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(connected.get(), to.get(), to.length()), 0);
  }
  EXPECT_FALSE(watch.Drain().contains(refusing));
  listener->socket.Reset();
  // The kernel reports a little later.
  FailedAttempts seen;
  for (const Deadline limit = Deadline::After(kLimit); seen.refused == 0 && !limit.Expired();) {
    base::UniqueFd refused(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_EQ(connect(refused.get(), to.get(), to.length()), -1);
    pollfd answered{refused.get(), POLLOUT, 0};
    ASSERT_EQ(poll(&answered, 1, static_cast<int>(std::chrono::milliseconds(kLimit).count())), 1);
    refused.Reset();
    poll(nullptr, 0, 10);
    seen = watch.Drain()[refusing];
  }
  EXPECT_EQ(seen, (FailedAttempts{.refused = 1}));
  EXPECT_FALSE(watch.Drain().contains(refusing)) << "each is returned once";
}

TEST(TcpTrafficTest, TruncationEndsParsing) {
  nlmsghdr header{};
  header.nlmsg_len = sizeof header + sizeof(inet_diag_msg);
  header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  inet_diag_msg socket{};
  socket.idiag_inode = 7;
  const std::string whole = std::string(reinterpret_cast<const char*>(&header), sizeof header) +
                            std::string(reinterpret_cast<const char*>(&socket), sizeof socket);
  TcpTraffic traffic;
  EXPECT_FALSE(AddTcpTraffic(whole, traffic));
  EXPECT_EQ(traffic, (TcpTraffic{{7, {}}}));  // without the attribute that has more
  for (size_t size = 0; size < whole.size(); ++size) {
    TcpTraffic none;
    AddTcpTraffic(whole.substr(0, size), none);
    EXPECT_TRUE(none.empty()) << size;
  }
}

}  // namespace
}  // namespace autodist::agent
