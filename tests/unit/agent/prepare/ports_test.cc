// Uses loopback, and ports that the system chooses.
#include "agent/prepare/ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/socket_address.h"
#include "support/forbid_threads.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kLimit;
using testing::EndsWith;
using testing::StartsWith;

constexpr milliseconds kShortLimit{300};

struct Opened {
  std::unique_ptr<PortListener> listener;
  v1::OpenPortsResponse ports;
};

Opened Open(uint32_t wanted, const std::string& token = "token") {
  v1::OpenPortsRequest request;
  request.set_wanted_port(wanted);
  request.set_token(token);
  Opened opened;
  auto listener = PortListener::Open(request, opened.ports);
  EXPECT_TRUE(listener.ok());
  opened.listener = *std::move(listener);
  return opened;
}

base::SocketAddress Loopback(uint32_t port) {
  return {*base::IpAddress::Parse("127.0.0.1"), static_cast<uint16_t>(port)};
}

TEST(PortListenerDeathTest, OpensNoPortsIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        v1::OpenPortsResponse response;
        const Status opened = PortListener::Open({}, response).status();
        _exit(opened.code() == StatusCode::kResourceExhausted ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// A socket bound to a port of loopback; with a negative backlog it does not listen.
class BoundSocket {
 public:
  explicit BoundSocket(int backlog) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const base::SocketAddress any = Loopback(0);
    EXPECT_EQ(bind(fd_.get(), any.get(), any.length()), 0);
    if (backlog >= 0) listen(fd_.get(), backlog);
  }
  int fd() const { return fd_.get(); }
  uint32_t port() const {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.sin_port);
  }

 private:
  base::UniqueFd fd_;
};

class PortsTest : public testing::Test {
 protected:
  void Add(uint32_t port, const std::string& address = "127.0.0.1",
           const std::string& token = "token") {
    v1::PortTarget& target = *targets_.Add();
    target.set_address(address);
    target.set_port(port);
    target.set_token(token);
  }
  std::vector<v1::PortTry> Try(milliseconds limit = kLimit) {
    return ConnectToAll(targets_, limit, {});
  }
  std::string IssueOf(uint32_t port, milliseconds limit = kLimit) {
    targets_.Clear();
    Add(port);
    return Try(limit)[0].error();
  }

  google::protobuf::RepeatedPtrField<v1::PortTarget> targets_;
};

TEST(PortsTakenTest, ReportsPortsWithListeners) {
  const BoundSocket one(/*backlog=*/1);
  const BoundSocket other(/*backlog=*/1);
  const uint32_t free_port = BoundSocket(/*backlog=*/1).port();
  google::protobuf::RepeatedField<uint32_t> ports;
  for (const uint32_t port : {one.port(), free_port, other.port(), 0u, 70'000u}) ports.Add(port);
  EXPECT_THAT(PortsTaken(ports), testing::ElementsAre(one.port(), other.port()));
  // No port is kept.
  EXPECT_THAT(PortsTaken(ports), testing::ElementsAre(one.port(), other.port()));
}

TEST_F(PortsTest, ReachesOpenPortsInOrder) {
  const Opened first = Open(0);
  const Opened second = Open(0, "");
  EXPECT_EQ(first.ports.wanted_port(), 0u);
  EXPECT_EQ(first.ports.wanted_error(), "");
  Add(first.ports.free_port());
  Add(second.ports.free_port());
  Add(second.ports.free_port(), "127.0.0.1", "");
  const auto results = Try(kShortLimit);
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].error(), "");
  EXPECT_GT(results[0].latency_us(), 0u);
  EXPECT_LT(results[0].latency_us(), 300'000u);
  EXPECT_EQ(results[1].error(), "connected, but nothing came within 0.3 s");
  EXPECT_EQ(results[2].error(), "");
}

TEST_F(PortsTest, ServesBothFamilies) {
  const base::UniqueFd probe(socket(AF_INET6, SOCK_STREAM, 0));
  const base::SocketAddress loopback(*base::IpAddress::Parse("::1"), 0);
  if (!probe.valid() || bind(probe.get(), loopback.get(), loopback.length()) != 0) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  const Opened opened = Open(0);
  Add(opened.ports.free_port(), "::1");
  Add(opened.ports.free_port(), "127.0.0.1");
  for (const v1::PortTry& result : Try()) EXPECT_EQ(result.error(), "");
}

TEST_F(PortsTest, ARequestedPortIsOpenedIfItIsFreeAndReleasedAtOnce) {
  uint32_t port = 0;
  std::vector<base::UniqueFd> staying;
  for (int i = 0; i < 2; ++i) {
    Opened opened = Open(port);
    EXPECT_EQ(opened.ports.wanted_port(), port);
    if (port == 0) port = opened.ports.free_port();
    EXPECT_EQ(IssueOf(port), "");
    staying.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
    const base::SocketAddress to = Loopback(port);
    ASSERT_EQ(connect(staying.back().get(), to.get(), to.length()), 0);
    char first = 0;
    ASSERT_EQ(recv(staying.back().get(), &first, 1, 0), 1);
  }
  // No connection is left over, so binding the port needs no SO_REUSEADDR.
  const base::UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  const base::SocketAddress address = Loopback(port);
  EXPECT_EQ(bind(fd.get(), address.get(), address.length()), 0) << strerror(errno);
}

TEST_F(PortsTest, ARequestedPortThatIsTakenIsAnIssue) {
  const BoundSocket owner(1);
  const Opened opened = Open(owner.port());
  EXPECT_EQ(opened.ports.wanted_port(), 0u);
  EXPECT_EQ(opened.ports.wanted_error(),
            "port " + std::to_string(owner.port()) + ": Address already in use");
  EXPECT_EQ(IssueOf(opened.ports.free_port()), "");
  EXPECT_EQ(Open(70'000).ports.wanted_error(), "there is no port 70000");
}

TEST_F(PortsTest, ALongTokenIsRefused) {
  v1::OpenPortsRequest request;
  request.set_token(std::string(PortListener::kMaxTokenLength + 1, 'x'));
  v1::OpenPortsResponse response;
  EXPECT_FALSE(PortListener::Open(request, response).ok());
  request.mutable_token()->pop_back();
  const auto listener = PortListener::Open(request, response);
  ASSERT_TRUE(listener.ok());
  Add(response.free_port(), "127.0.0.1", request.token());
  EXPECT_EQ(Try()[0].error(), "");
}

TEST_F(PortsTest, IssuesNameTheCause) {
  const BoundSocket closed(-1);
  EXPECT_EQ(IssueOf(closed.port()), "Connection refused");
  const BoundSocket silent(8);
  EXPECT_EQ(IssueOf(silent.port(), kShortLimit), "connected, but nothing came within 0.3 s");
  EXPECT_EQ(IssueOf(0), "there is no port 0");
  EXPECT_EQ(IssueOf(65'536), "there is no port 65536");
  const Opened other = Open(0, "tokem and more");
  EXPECT_EQ(IssueOf(other.ports.free_port()), "something else answers there");
  targets_.Clear();
  Add(1, "localhost");
  EXPECT_EQ(Try()[0].error(), "'localhost' is not a numeric address");
}

TEST_F(PortsTest, AConnectionTimesOut) {
  const BoundSocket full(0);  // accepts one connection, and drops further ones
  std::vector<base::UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const base::SocketAddress to = Loopback(full.port());
    connect(waiting.back().get(), to.get(), to.length());
  }
  const auto begin = base::Deadline::Clock::now();
  EXPECT_EQ(IssueOf(full.port(), kShortLimit), "timed out after 0.3 s");
  EXPECT_GE(base::Deadline::Clock::now() - begin, kShortLimit);
}

TEST_F(PortsTest, AnotherServiceThatClosesIsReported) {
  const BoundSocket other(8);
  std::jthread closing([&] { close(accept(other.fd(), nullptr, nullptr)); });
  EXPECT_EQ(IssueOf(other.port()), "something else answers there");
}

TEST_F(PortsTest, PeersThatStayConnectedDelayNoOthers) {
  const Opened opened = Open(0);
  std::vector<base::UniqueFd> staying;
  for (size_t i = 0; i < 100; ++i) {
    staying.emplace_back(socket(AF_INET, SOCK_STREAM, 0));
    const base::SocketAddress to = Loopback(opened.ports.free_port());
    ASSERT_EQ(connect(staying.back().get(), to.get(), to.length()), 0);
  }
  EXPECT_EQ(IssueOf(opened.ports.free_port()), "");
}

TEST_F(PortsTest, ManyNodesTryEachOtherAtTheSameTime) {
  constexpr size_t kNodes = 16;
  std::vector<Opened> nodes;
  for (size_t i = 0; i < kNodes; ++i) nodes.push_back(Open(0));
  for (const Opened& node : nodes) {
    for (int i = 0; i < 8; ++i) Add(node.ports.free_port());
  }
  std::vector<std::jthread> trying;
  std::atomic<int> reached = 0;
  for (size_t i = 0; i < kNodes; ++i) {
    trying.emplace_back([&] {
      for (const v1::PortTry& result : Try()) {
        reached += result.error().empty() ? 1 : 0;
        EXPECT_EQ(result.error(), "");
      }
    });
  }
  trying.clear();
  EXPECT_EQ(reached, static_cast<int>(kNodes * kNodes * 8));
}

TEST_F(PortsTest, TargetsBeyondTheConcurrencyLimitShareTheTimeLimit) {
  const Opened opened = Open(0);
  const BoundSocket silent(SOMAXCONN);
  for (size_t i = 0; i < kMaxTries; ++i) Add(silent.port());
  Add(opened.ports.free_port());
  const auto results = Try(milliseconds(600));
  EXPECT_EQ(results.front().error(), "connected, but nothing came within 0.3 s");
  EXPECT_EQ(results.back().error(), "");
}

TEST_F(PortsTest, EndsOnRequest) {
  const BoundSocket silent(8);
  Add(silent.port());
  std::stop_source stop;
  base::UniqueFd accepted;
  std::jthread stopping([&] {
    accepted.Reset(accept(silent.fd(), nullptr, nullptr));
    stop.request_stop();
  });
  const auto results = ConnectToAll(targets_, std::chrono::hours(1), stop.get_token());
  EXPECT_EQ(results[0].error(), "not tried to the end: the agent is ending");
}

TEST_F(PortsTest, APayloadArrives) {
  const Opened opened = Open(0);
  for (const uint64_t bytes : {1u, 64u << 10, 8u << 20}) {
    Add(opened.ports.free_port());
    targets_.rbegin()->set_payload(bytes);
  }
  for (const v1::PortTry& one : Try()) {
    EXPECT_EQ(one.error(), "");
    EXPECT_FALSE(one.stalled());
  }
}

TEST_F(PortsTest, AnUnreadPayloadStalls) {
  const BoundSocket listener(1);
  Add(listener.port());
  targets_.rbegin()->set_payload(64u << 20);
  std::jthread server([&] {
    const base::UniqueFd peer(accept(listener.fd(), nullptr, nullptr));
    EXPECT_EQ(send(peer.get(), "token", 5, MSG_NOSIGNAL), 5);
    // Waits until the other side gives up; its data is not read.
    pollfd gone{peer.get(), POLLRDHUP, 0};
    poll(&gone, 1, base::Deadline::After(kLimit).PollTimeout());
  });
  const auto tries = Try();
  ASSERT_EQ(tries.size(), 1u);
  EXPECT_TRUE(tries[0].stalled());
  EXPECT_THAT(tries[0].error(), StartsWith("a message of 64.0 MiB stalls after "));
}

}  // namespace
}  // namespace autodist::agent
