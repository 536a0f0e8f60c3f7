#include "metrics/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/socket_address.h"
#include "control/job_server.h"
#include "support/example_snapshot.h"
#include "support/session.h"

namespace autodist::metrics {
namespace {

using namespace std::chrono_literals;
using base::Deadline;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::chrono::seconds kLimit{20};
constexpr std::chrono::seconds kEndLimit{4};  // shorter than idle connections are kept

class ServerTest : public testing::Test {
 protected:
  // Clients write to connections that the server has closed.
  ServerTest() { signal(SIGPIPE, SIG_IGN); }

  // An autodist that runs a job.
  std::unique_ptr<control::JobServer> StartJob() {
    control::JobRequests requests;
    requests.snapshots.snapshot = [](const v1::GetSnapshotRequest&, const auto& answer) {
      answer(std::make_shared<const v1::JobSnapshot>(test::ExampleSnapshot()));
    };
    auto job = control::JobServer::Start("job-1", std::move(requests));
    EXPECT_TRUE(job.ok()) << job.status();
    return *std::move(job);
  }
  std::unique_ptr<Server> StartServer(const std::string& address = "127.0.0.1:0") {
    auto server = Server::Start({address, "job-1"});
    EXPECT_TRUE(server.ok()) << server.status();
    return *std::move(server);
  }

  const test::Session session_;
};

base::UniqueFd ConnectTo(const Server& server) {
  const std::string url = server.url();  // http://ADDRESS:PORT/metrics
  const auto address = base::ListenAddress::Parse(url.substr(7, url.rfind('/') - 7));
  EXPECT_TRUE(address.ok()) << url;
  const base::SocketAddress name(address->ip, address->port);
  base::UniqueFd socket(::socket(address->ip.v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(connect(socket.get(), name.get(), name.length()), 0);
  return socket;
}

std::string ReadAll(int socket) {
  std::string all;
  char buffer[4096];
  for (;;) {
    const auto size = base::ReadSome(socket, buffer, sizeof buffer, Deadline::After(kLimit));
    if (!size.ok() || *size == 0) return all;
    all.append(buffer, *size);
  }
}

std::string Ask(const Server& server, const std::string& line, const std::string& headers = "") {
  const base::UniqueFd socket = ConnectTo(server);
  // The server may close while a refused request is being sent.
  (void)base::WriteAll(
      socket.get(),
      line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n",
      Deadline::After(kLimit))
      .ok();
  return ReadAll(socket.get());
}

std::string AskAs(const Server& server, const std::string& host) {
  const base::UniqueFd socket = ConnectTo(server);
  EXPECT_TRUE(
      base::WriteAll(socket.get(),
                     "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n",
                     Deadline::After(kLimit))
          .ok());
  return ReadAll(socket.get());
}

TEST_F(ServerTest, AnswersScrapes) {
  const auto job = StartJob();
  const auto server = StartServer();
  EXPECT_THAT(Ask(*server, "GET /metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"),
                    HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                    HasSubstr("\nautodist_training_step{job_id=\"1123-141500-7a3c\"} 1200\n"),
                    Not(HasSubstr("# EOF"))));
  EXPECT_THAT(
      Ask(*server, "GET /metrics",
          "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n"),
      AllOf(HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
            HasSubstr("# TYPE autodist_job_restarts counter\n"), EndsWith("\n# EOF\n")));
  EXPECT_THAT(Ask(*server, "HEAD /metrics"),
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(ServerTest, IsHealthyWithoutAJob) {
  const auto server = StartServer();
  EXPECT_THAT(Ask(*server, "GET /-/healthy"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(Ask(*server, "GET /metrics"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(ServerTest, ListensOnIpv6) {
  const auto server = StartServer("[::1]:0");
  EXPECT_THAT(server->url(), StartsWith("http://[::1]:"));
  EXPECT_THAT(Ask(*server, "GET /-/healthy"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ServerTest, RefusesOtherRequests) {
  const auto server = StartServer();
  EXPECT_THAT(Ask(*server, "GET /"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(Ask(*server, "POST /metrics"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Ask(*server, "POST /metrics", "Content-Length: 99\r\n"), StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Ask(*server, "GET /" + std::string(100'000, 'x')), Not(HasSubstr("200 OK")));
  EXPECT_THAT(Ask(*server, "GET /-/healthy", "X: " + std::string(20'000, 'x') + "\r\n"),
              Not(HasSubstr("200 OK")));
  EXPECT_THAT(Ask(*server, "GET /-/healthy"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(ServerTest, AnAddressInUseIsAFailure) {
  const auto first = StartServer();
  const std::string url = first->url();
  const std::string address = url.substr(7, url.rfind('/') - 7);
  const auto second = Server::Start({address, "job-1"});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(Message(second.status()), address + ": Address already in use");
}

// DNS rebinding: a page of another site with a name that resolves to this machine.
TEST_F(ServerTest, OnALoopbackAddressOnlyLoopbackNamesAreAnswered) {
  const auto job = StartJob();
  const auto server = StartServer();
  EXPECT_THAT(AskAs(*server, "evil.example"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(AskAs(*server, "evil.example:9464"), StartsWith("HTTP/1.1 403 "));
  for (const char* host : {"localhost", "127.0.0.1:9464", "[::1]:9464"}) {
    EXPECT_THAT(AskAs(*server, host), StartsWith("HTTP/1.1 200 OK\r\n")) << host;
  }
}

TEST_F(ServerTest, OnANetworkAddressesAndThisMachinesNameAreAnswered) {
  const auto job = StartJob();
  const auto server = StartServer("0.0.0.0:0");
  for (const std::string& host : {std::string("10.0.0.1:9464"), base::HostName()}) {
    EXPECT_THAT(AskAs(*server, host), StartsWith("HTTP/1.1 200 OK\r\n")) << host;
  }
  EXPECT_THAT(AskAs(*server, "evil.example:9464"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(ServerTest, SilentClientsBlockNoOthers) {
  const auto job = StartJob();
  const auto server = StartServer();
  std::vector<base::UniqueFd> silent;
  for (size_t i = 0; i < 3 * Server::kMaxConnections; ++i) silent.push_back(ConnectTo(*server));
  EXPECT_THAT(Ask(*server, "GET /metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

// Clients that have been served once and stay block no others, either.
TEST_F(ServerTest, ClientsBetweenTwoRequestsBlockNoOthers) {
  const auto server = StartServer();
  std::vector<base::UniqueFd> kept;
  for (size_t i = 0; i < 3 * Server::kMaxConnections; ++i) {
    kept.push_back(ConnectTo(*server));
    ASSERT_TRUE(base::WriteAll(kept.back().get(),
                               "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
                               Deadline::After(kLimit))
                    .ok());
    char byte = 0;
    ASSERT_EQ(*base::ReadSome(kept.back().get(), &byte, 1, Deadline::After(kLimit)), 1u);
  }
}

TEST_F(ServerTest, EndsAtOnceWhateverItsClientsDo) {
  const auto job = StartJob();
  auto server = StartServer();
  const base::UniqueFd idle = ConnectTo(*server);
  const base::UniqueFd kept = ConnectTo(*server);
  ASSERT_TRUE(base::WriteAll(kept.get(), "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\nGET /met",
                             Deadline::After(kLimit))
                  .ok());
  char byte = 0;
  ASSERT_EQ(*base::ReadSome(kept.get(), &byte, 1, Deadline::After(kLimit)), 1u);
  // Sends a byte of a header now and then, as long as the server reads.
  const base::UniqueFd slow = ConnectTo(*server);
  std::promise<void> wrote;
  std::jthread trickle([&](const std::stop_token& stop) {
    bool first = true;
    while (!stop.stop_requested() &&
           base::WriteAll(slow.get(), "G", Deadline::After(kLimit)).ok()) {
      if (std::exchange(first, false)) wrote.set_value();
      std::this_thread::yield();
    }
  });
  wrote.get_future().wait();
  const auto start = Deadline::Clock::now();
  server.reset();
  EXPECT_LT(Deadline::Clock::now() - start, kEndLimit);
  EXPECT_EQ(ReadAll(idle.get()), "");
  trickle.request_stop();
  shutdown(slow.get(), SHUT_RDWR);
}

}  // namespace
}  // namespace autodist::metrics
