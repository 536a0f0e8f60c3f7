#include "http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "base/listen_address.h"
#include "base/socket_address.h"
#include "http/connection.h"

namespace autodist::http {
namespace {

using base::Deadline;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::chrono::seconds kLimit{20};
constexpr size_t kStrangers = 4;
constexpr size_t kAuthenticated = 2;

// A client's end of a connection.
class Client {
 public:
  explicit Client(const base::ListenAddress& address)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const base::SocketAddress name(address.ip, address.port);
    EXPECT_EQ(connect(socket_.get(), name.get(), name.length()), 0);
  }
  // The server may close while a refused request is being sent.
  void Send(const std::string& text) const {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t some =
          send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (some <= 0) return;
      sent += static_cast<size_t>(some);
    }
  }
  // Reads up to the end of the stream, or to this text.
  std::string Read(const std::string& end = "") const {
    std::string text;
    char buffer[4096];
    while (end.empty() || !text.ends_with(end)) {
      const auto got = base::ReadSome(socket_.get(), buffer, end.empty() ? sizeof buffer : 1,
                                      Deadline::After(kLimit));
      if (!got.ok() || *got == 0) break;
      text.append(buffer, *got);
    }
    return text;
  }
  int socket() const { return socket_.get(); }

 private:
  const base::UniqueFd socket_;
};

std::string Get(const std::string& path, const std::string& headers = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}
const std::string kLast = "Connection: close\r\n";

// Answers with the path; paths below /mine are authenticated, those below /no are refused.
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    auto listening = base::Listen(*base::ListenAddress::Parse("127.0.0.1:0"));
    address_ = listening->address;
    auto server = Server::Start(std::move(listening->socket),
                                {.listening = address_.ip,
                                 .max_strangers = kStrangers,
                                 .max_authenticated = kAuthenticated},
                                {[](const Request& request) -> Admission {
                                   if (request.path == "/no") return {Refusal(403, "No.")};
                                   return {.authenticated = request.path.starts_with("/mine")};
                                 },
                                 [this](const Request& request) { return AnswerTo(request); }});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::string Ask(const std::string& text) {
    const Client client(address_);
    client.Send(text);
    return client.Read();
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  base::ListenAddress address_;
  std::unique_ptr<Server> server_;
  std::atomic<int> waiting_ = 0;

 private:
  Answer AnswerTo(const Request& request) {
    if (request.path == "/throw") throw std::runtime_error("no answer");
    if (request.path.ends_with("/wait")) {
      ++waiting_;
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return released_; });
    }
    if (request.path.ends_with("/until-gone")) {
      ++waiting_;
      while (!request.gone()) std::this_thread::yield();
      --waiting_;
    }
    if (request.path == "/endless") {
      const auto piece = std::make_shared<const std::string>(1 << 20, 'x');
      return {.next = [piece] { return piece; }};
    }
    if (request.path == "/late") {
      return {.next = [this]() -> Answer::Piece {
        if (++waiting_ > 1) return nullptr;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return released_; });
        return std::make_shared<const std::string>("late");
      }};
    }
    if (request.path == "/pieces") {
      return {.next = [left = 3]() mutable -> Answer::Piece {
        if (left-- == 0) return nullptr;
        return std::make_shared<const std::string>(left == 1 ? "" : "piece" + std::to_string(left));
      }};
    }
    if (request.path == "/large") return {.body = std::string(3 << 20, 'y')};
    return {.body = request.method + " " + request.path, .headers = {{"X-One", "1"}}};
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

TEST_F(ServerTest, AnswersConsecutiveRequests) {
  const Client client(address_);
  client.Send(Get("/a") + Get("/b") + Get("/c", kLast));
  EXPECT_EQ(client.Read(),
            "HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 6\r\n\r\nGET /a"
            "HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 6\r\n\r\nGET /b"
            "HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 6\r\nConnection: close\r\n\r\nGET /c");
}

TEST_F(ServerTest, AHeadMayArriveInPieces) {
  const Client client(address_);
  for (const char c : Get("/slowly", kLast)) client.Send(std::string(1, c));
  EXPECT_THAT(client.Read(), EndsWith("GET /slowly"));
}

TEST_F(ServerTest, ABodyIsSentCompletelyInPieces) {
  EXPECT_THAT(Ask(Get("/pieces", kLast)),
              AllOf(HasSubstr("Transfer-Encoding: chunked\r\n"),
                    EndsWith("\r\n\r\n6\r\npiece2\r\n6\r\npiece0\r\n0\r\n\r\n")));
  EXPECT_THAT(Ask("GET /pieces HTTP/1.0\r\nHost: localhost\r\n\r\n"),
              AllOf(Not(HasSubstr("chunked")), EndsWith("\r\n\r\npiece2piece0")));
  EXPECT_THAT(Ask("HEAD /pieces HTTP/1.1\r\nHost: localhost\r\n" + kLast + "\r\n"),
              EndsWith("\r\n\r\n"));
  const std::string large = Ask(Get("/large", kLast));
  EXPECT_EQ(large.substr(large.find("\r\n\r\n") + 4), std::string(3 << 20, 'y'));
  EXPECT_THAT(Ask("HEAD /large HTTP/1.1\r\nHost: localhost\r\n" + kLast + "\r\n"),
              AllOf(HasSubstr("Content-Length: 3145728\r\n"), EndsWith("\r\n\r\n")));
}

TEST_F(ServerTest, RefusesAndCloses) {
  EXPECT_THAT(Ask(Get("/no")), AllOf(StartsWith("HTTP/1.1 403 Forbidden\r\n"), EndsWith("No.\n")));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(Ask("\x16\x03\x01\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask(Get("/throw", kLast)), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(Ask("HEAD /no HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("\r\n\r\n"));
}

// Its bytes are still arriving; closing at once would discard the refusal.
TEST_F(ServerTest, TheRefusalOfALargeRequestArrives) {
  EXPECT_THAT(Ask("GET /" + std::string(100'000, 'x')), StartsWith("HTTP/1.1 414 "));
  EXPECT_THAT(Ask(Get("/", "X: " + std::string(100'000, 'x'))), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" +
                  std::string(100'000, 'x')),
              StartsWith("HTTP/1.1 413 "));
}

TEST_F(ServerTest, TheStrangerWithTheLongestSilenceIsDropped) {
  std::vector<std::unique_ptr<Client>> silent;
  for (size_t i = 0; i < kStrangers; ++i) silent.push_back(std::make_unique<Client>(address_));
  // Once it is served, the server has accepted all before it; then it sends again.
  const Client fresh(address_);
  fresh.Send(Get("/a"));
  EXPECT_THAT(fresh.Read("/a"), EndsWith("GET /a"));
  EXPECT_EQ(silent[0]->Read(), "");  // it was dropped
  silent[1]->Send("GET");
  silent[2]->Send("GET /b HTTP/1.1\r\nHost: localhost\r\n");
  silent[3]->Send(Get("/c"));
  EXPECT_THAT(silent[3]->Read("/c"), EndsWith("GET /c"));
  EXPECT_THAT(Ask(Get("/d", kLast)), EndsWith("GET /d"));
  EXPECT_EQ(fresh.Read(), "");
  silent[2]->Send("\r\n");
  EXPECT_THAT(silent[2]->Read("/b"), EndsWith("GET /b"));
}

TEST_F(ServerTest, StrangersNeverDisplaceAuthenticatedClients) {
  const Client idle(address_), waits(address_);
  idle.Send(Get("/mine"));
  EXPECT_THAT(idle.Read("/mine"), EndsWith("GET /mine"));
  waits.Send(Get("/mine/wait"));
  std::vector<std::unique_ptr<Client>> silent;
  for (size_t i = 0; i < 5 * kStrangers; ++i) silent.push_back(std::make_unique<Client>(address_));
  EXPECT_THAT(Ask(Get("/a", kLast)), EndsWith("GET /a"));
  idle.Send(Get("/mine/again"));
  EXPECT_THAT(idle.Read("/again"), EndsWith("GET /mine/again"));
  Release();
  EXPECT_THAT(waits.Read("/wait"), EndsWith("GET /mine/wait"));
}

// Even before the first piece.
TEST_F(ServerTest, AClientThatWaitsForAPieceIsNotSilent) {
  const Client stream(address_);
  stream.Send(Get("/late", kLast));
  const Deadline limit = Deadline::After(kLimit);
  while (waiting_ < 1 && !limit.Expired()) std::this_thread::yield();
  std::vector<std::unique_ptr<Client>> silent;
  for (size_t i = 0; i < 5 * kStrangers; ++i) silent.push_back(std::make_unique<Client>(address_));
  EXPECT_THAT(Ask(Get("/a", kLast)), EndsWith("GET /a"));
  Release();
  EXPECT_THAT(stream.Read(), HasSubstr("late"));
}

TEST_F(ServerTest, AnAnswerInProgressIsSentAtTheEnd) {
  const Client client(address_);
  client.Send(Get("/wait"));
  const Deadline limit = Deadline::After(kLimit);
  while (waiting_ < 1 && !limit.Expired()) std::this_thread::yield();
  std::thread ending([this] { server_.reset(); });
  Release();
  EXPECT_THAT(client.Read("/wait"), EndsWith("GET /wait"));
  ending.join();
}

TEST_F(ServerTest, TheAuthenticatedClientWithTheLongestSilenceIsDropped) {
  const Client first(address_), second(address_), third(address_);
  for (const Client* client : {&first, &second, &third}) {
    client->Send(Get("/mine"));
    EXPECT_THAT(client->Read("/mine"), EndsWith("GET /mine"));
  }
  EXPECT_EQ(first.Read(), "");
  second.Send(Get("/mine/wait"));
  third.Send(Get("/mine/wait"));
  const Deadline limit = Deadline::After(kLimit);
  while (waiting_ < 2 && !limit.Expired()) std::this_thread::yield();
  EXPECT_THAT(Ask(Get("/mine")), StartsWith("HTTP/1.1 503 "));  // the others wait for the server
  Release();
}

// A client that does not read the answer counts as silent, too.
TEST_F(ServerTest, ClientsThatDoNotReadBlockNoOthers) {
  std::vector<std::unique_ptr<Client>> stuck;
  for (size_t i = 0; i < kStrangers; ++i) {
    stuck.push_back(std::make_unique<Client>(address_));
    stuck.back()->Send(Get("/endless"));
    EXPECT_THAT(stuck.back()->Read("x"), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  const Deadline limit = Deadline::After(std::chrono::seconds(4));  // before they are late
  std::string answer;
  while (answer.empty() && !limit.Expired()) answer = Ask(Get("/a", kLast));
  EXPECT_THAT(answer, EndsWith("GET /a"));
}

TEST_F(ServerTest, AHandlerIsNotifiedWhenItsClientDisconnects) {
  {
    const Client client(address_);
    client.Send(Get("/until-gone"));
    const Deadline limit = Deadline::After(kLimit);
    while (waiting_ == 0 && !limit.Expired()) std::this_thread::yield();
  }
  const Deadline limit = Deadline::After(kLimit);
  while (waiting_ != 0 && !limit.Expired()) std::this_thread::yield();
  EXPECT_EQ(waiting_, 0);
}

TEST_F(ServerTest, TheEndCancelsAllRequests) {
  const Client idle(address_), part(address_), waits(address_), stuck(address_);
  part.Send("GET /");
  waits.Send(Get("/until-gone"));
  stuck.Send(Get("/endless"));
  EXPECT_THAT(stuck.Read("x"), StartsWith("HTTP/1.1 200 OK\r\n"));
  server_.reset();
  EXPECT_EQ(idle.Read() + part.Read() + waits.Read(), "");
}

// Of this process.
size_t ResidentBytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(getpagesize());
}

TEST_F(ServerTest, UnfinishedHeadersUseLittleMemory) {
  const std::string header = "X: " + std::string(8000, 'x') + "\r\n";
  std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 98; ++i) text += header;
  EXPECT_THAT(Ask(Get("/a", kLast)), EndsWith("GET /a"));
  const size_t before = ResidentBytes();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 64; ++i) {
    clients.push_back(std::make_unique<Client>(address_));
    clients.back()->Send(text);
  }
  EXPECT_THAT(Ask(Get("/a", kLast)), EndsWith("GET /a"));
  constexpr size_t kGrowth = SANITIZED ? 24 << 20 : 4 << 20;  // sanitizers keep freed memory
  EXPECT_LT(ResidentBytes(), before + kGrowth) << "64 × 98 × 8 kB were sent";
}

}  // namespace
}  // namespace autodist::http
