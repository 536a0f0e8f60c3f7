// Uses a peer that speaks NCCL's protocol, on ports that the system chooses.
#include "agent/stacks/nccl_ras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/fd.h"
#include "base/socket_address.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::kLimit;

class NcclRasTest : public testing::Test {
 protected:
  NcclRasTest() {
    signal(SIGPIPE, SIG_IGN);
    Listen("127.0.0.1");
  }
  ~NcclRasTest() override {
    if (peer_.joinable()) peer_.join();
  }

  // Listens only at this host, on a port of the system's choice.
  void Listen(const char* host) {
    const base::SocketAddress any(*base::IpAddress::Parse(host), 0);
    listener_.Reset(socket(any.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(listener_.get(), any.get(), any.length()), 0);
    ASSERT_EQ(listen(listener_.get(), 1), 0);
    sockaddr_in6 address{};  // the port is at the same offset as in a sockaddr_in
    socklen_t length = sizeof address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
    port_ = std::to_string(ntohs(address.sin6_port));
  }

  // The request is in asked_ once the summary has been received.
  void Answer(std::function<void(int fd)> answer) {
    peer_ = std::thread([this, answer = std::move(answer)] {
      const base::UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      answer(fd.get());
    });
  }

  void Say(int fd, std::string_view text) const {
    EXPECT_TRUE(base::WriteAll(fd, text, Deadline::After(kLimit)).ok());
  }

  std::string ReadLine(int fd) const {
    std::string line;
    for (char c = 0; c != '\n'; line += c) {
      const auto got = base::ReadSome(fd, &c, 1, Deadline::After(kLimit));
      if (!got.ok() || *got == 0) break;
    }
    return line;
  }

  // Serves until the status is requested.
  void Greet(int fd) const {
    EXPECT_EQ(ReadLine(fd), "CLIENT PROTOCOL 2\n");
    Say(fd, "SERVER PROTOCOL 3\n");
    EXPECT_EQ(ReadLine(fd), "TIMEOUT 3\n");
    Say(fd, "OK\n");
    EXPECT_EQ(ReadLine(fd), "SET FORMAT json\n");
    Say(fd, has_json_ ? "OK\n" : "ERROR: Unknown command SET FORMAT json\n");
    EXPECT_EQ(ReadLine(fd), "STATUS\n");
  }

  std::string Summary(milliseconds limit = kLimit) const {
    return AskNccl("localhost:" + port_, processes_, Deadline::After(limit)).summary;
  }

  base::UniqueFd listener_;
  std::string port_;
  bool has_json_ = false;                      // since 2.28.7
  std::vector<pid_t> processes_ = {getpid()};  // of the job
  std::thread peer_;
};

TEST_F(NcclRasTest, ReturnsTheStatus) {
  Answer([this](int fd) {
    Greet(fd);
    Say(fd, "NCCL version 2.24.3\n\n  Group  Rank\n");
    Say(fd, "  0\t7 \x1b[31m");
  });
  EXPECT_EQ(Summary(), "NCCL version 2.24.3\n\n  Group  Rank\n  0\t7 \\x1b[31m\n");
}

TEST_F(NcclRasTest, LocalhostMayBeIpv6) {
  Listen("::1");
  Answer([this](int fd) {
    Greet(fd);
    Say(fd, "NCCL version 2.24.3\n");
  });
  EXPECT_EQ(Summary(), "NCCL version 2.24.3\n");
}

// Another user may listen at NCCL's address, which is the same for all.
TEST_F(NcclRasTest, AnAnswerOfAnotherProcessDoesNotCount) {
  processes_ = {getppid()};
  Answer([this](int fd) {
    EXPECT_EQ(ReadLine(fd), "CLIENT PROTOCOL 2\n");
    Say(fd, "SERVER PROTOCOL 3\nOK\nOK\n{\"nccl_version\": \"9\"}");
    shutdown(fd, SHUT_WR);
    while (!ReadLine(fd).empty()) continue;  // until the other side gives up
  });
  EXPECT_EQ(Summary(), "");
}

// Failed connections there are those of the agent.
TEST(NcclRasEndpointsTest, AreThoseOfTheAddress) {
  using Endpoints = std::vector<std::string>;
  EXPECT_EQ(NcclRasEndpoints(kNcclRasAddress), (Endpoints{"127.0.0.1:28028", "[::1]:28028"}));
  EXPECT_EQ(NcclRasEndpoints("10.0.0.7:1"), Endpoints{"10.0.0.7:1"});
  EXPECT_EQ(NcclRasEndpoints("nonsense"), Endpoints{});
}

TEST_F(NcclRasTest, NoListenerMeansNoNccl) {
  listener_.Reset();
  EXPECT_EQ(Summary(), "");
  for (const char* address : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999",
                              "127.0.0.1:80x", "localhost.:1", "[::1:1", ":1"}) {
    EXPECT_EQ(AskNccl(address, processes_, Deadline::After(kLimit)).summary, "") << address;
  }
}

TEST_F(NcclRasTest, AnotherServiceIsNotNccl) {
  Answer([this](int fd) { Say(fd, "SSH-2.0-OpenSSH_9.2\r\n"); });
  EXPECT_EQ(Summary(), "");
}

TEST_F(NcclRasTest, AnEndlessLineIsNotNccl) {
  Answer([](int fd) {
    const std::string much(65536, 'x');
    while (base::WriteAll(fd, much, Deadline::After(kLimit)).ok()) continue;
  });
  EXPECT_EQ(Summary(), "");
}

TEST_F(NcclRasTest, ASilentPeerIsNotAwaitedForLonger) {
  const milliseconds limit(200);
  EXPECT_EQ(Summary(limit), "");  // the connection is not accepted
  Answer([this](int fd) {
    EXPECT_EQ(ReadLine(fd), "CLIENT PROTOCOL 2\n");  // of the connection before
  });
  peer_.join();
  Answer([this](int fd) {
    Greet(fd);
    Say(fd, "the first half");
    EXPECT_EQ(ReadLine(fd), "");  // until the other side gives up
  });
  EXPECT_EQ(Summary(milliseconds(2'000)), "the first half\n");  // a busy machine may need a second
}

TEST_F(NcclRasTest, AnEndlessStatusIsTruncated) {
  Answer([this](int fd) {
    Greet(fd);
    const std::string much(65536, 'x');
    while (base::WriteAll(fd, much, Deadline::After(kLimit)).ok()) continue;
  });
  EXPECT_EQ(Summary().size(), (size_t{1} << 20) + 1);
}

// Two processes with four ranks, one of which is behind, and two missing ranks.
constexpr char kJson[] = R"({"nccl_version": "2.29.2", "cuda_driver_version": 13000,
  "communicators_count": 1, "communicators": [
  {"hash": "0x1f", "secondary_hash": "0x1:0x2", "size": 4, "ranks_count": 2, "ranks": [
    {"rank": 0, "host": "10.0.0.1", "pid": 4711, "cuda_dev": 0, "nvml_dev": 0,
     "status": {"init_state": 0, "async_error": 0, "finalize_called": false,
                "destroy_flag": false, "abort_flag": false},
     "collective_counts": {"Broadcast": 2, "AllGather": 0, "AllReduce": 15}},
    {"rank": 1, "host": "10.0.0.2", "pid": 4712, "cuda_dev": 0, "nvml_dev": 0,
     "status": {"init_state": 0, "async_error": 6, "finalize_called": false,
                "destroy_flag": false, "abort_flag": true},
     "collective_counts": {"Broadcast": 2, "AllReduce": 14}}],
   "missing_ranks": [
    {"rank": 2, "host": "10.0.0.3", "pid": 4713, "status": {"unresponsive": true,
                                                            "considered_dead": false}},
    {"rank": 3, "host": "unknown", "pid": -1, "status": {"unresponsive": true,
                                                         "considered_dead": true}}]}],
  "ras": {"collection_time_sec": 0.004, "timeouts_count": 0}})";

TEST_F(NcclRasTest, ReadsJsonIfNcclHasIt) {
  has_json_ = true;
  Answer([this](int fd) {
    Greet(fd);
    Say(fd, kJson);
  });
  const NcclView view = AskNccl("localhost:" + port_, processes_, Deadline::After(kLimit));
  EXPECT_EQ(view.summary,
            "NCCL 2.29.2\n"
            "communicator 0x1f of 4 ranks\n"
            "  16 collectives entered by rank 1\n"
            "  17 collectives entered by rank 0\n"
            "  rank 1 (process 4712 on 10.0.0.2), asynchronous error 6, aborted\n"
            "  rank 2 (process 4713 on 10.0.0.3), does not answer\n"
            "  rank 3 (process 0 on unknown), is taken for dead\n");
  ASSERT_EQ(view.processes.size(), 2U);
  EXPECT_EQ(view.processes[0].host, "10.0.0.1");
  EXPECT_EQ(CountLine(view.processes[0].count),
            "counted by NCCL for process 4711: group 0x1f of 4: 17 entered; AllReduce 15, "
            "Broadcast 2\n");
}

TEST(NcclJsonTest, OtherJsonHasNoRanks) {
  EXPECT_FALSE(ReadNcclJson("").ok());
  EXPECT_FALSE(ReadNcclJson("[1]").ok());
  EXPECT_FALSE(ReadNcclJson("{\"communicators\": [").ok());
  for (
      const char* json :
      {"{}", R"({"communicators": 3})", R"({"communicators": [3, "x", null]})",
       R"({"communicators": [{"ranks": {"a": 1}, "missing_ranks": [[]], "size": -1}]})",
       R"({"communicators": [{"ranks": [{"collective_counts": [1], "pid": "x", "rank": 1e9}]}]})"}) {
    EXPECT_TRUE(ReadNcclJson(json).ok()) << json;
  }
  EXPECT_FALSE(ReadNcclJson("3").ok());
  EXPECT_FALSE(ReadNcclJson(R"({"a": [[[[[[[[1]]]]]]]]})").ok());  // too deep
  const auto view = ReadNcclJson(R"({"nccl_version": "\u001b[31m"})");
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->summary, "NCCL \\x1b[31m\n");
}

TEST(NcclJsonTest, TextsAndRanksAreLimited) {
  const auto view = ReadNcclJson(R"({"communicators": [{"ranks": [{"host": "x"}], "hash": ")" +
                                 std::string(1000, 'h') + R"("}]})");
  ASSERT_TRUE(view.ok());
  ASSERT_EQ(view->processes.size(), 1U);
  EXPECT_EQ(view->processes[0].count.group.size(), 200U);
  std::string ranks = "{}";
  for (int i = 0; i < 70'000; ++i) ranks += ",{}";
  EXPECT_FALSE(ReadNcclJson(R"({"communicators": [{"ranks": [)" + ranks + "]}]}").ok());
}

}  // namespace
}  // namespace autodist::agent
