#include "metrics/http_server.h"

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

#include "base/deadline.h"

namespace autodist::metrics {
namespace {

using base::Deadline;

constexpr std::chrono::seconds kIdleLimit{5};     // between two requests
constexpr std::chrono::seconds kRequestLimit{5};  // until the last byte of one has come
constexpr std::chrono::seconds kAnswerLimit{15};  // until the last byte of its answer has gone
constexpr std::chrono::seconds kPauseLimit{5};    // between two bytes
constexpr std::chrono::milliseconds kSweepInterval{500};

// The sockets of all connections, so that they can be broken off: the library's limits are of each
// byte, not of all of them. Thread-safe.
class Connections {
 public:
  void Limit(int socket, Deadline deadline) {
    const std::lock_guard lock(mutex_);
    sockets_.insert_or_assign(socket, deadline);
    if (ended_) shutdown(socket, SHUT_RDWR);
  }
  void Remove(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.erase(socket);
  }
  void BreakLateOnes() {
    const std::lock_guard lock(mutex_);
    for (const auto& [socket, deadline] : sockets_) {
      if (deadline.Expired()) shutdown(socket, SHUT_RDWR);
    }
  }
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto& [socket, deadline] : sockets_) shutdown(socket, SHUT_RDWR);
  }

 private:
  std::mutex mutex_;
  bool ended_ = false;               // guarded by mutex_
  std::map<int, Deadline> sockets_;  // likewise
};

// A thread for each connection that there may be.
class Threads final : public httplib::TaskQueue {
 public:
  explicit Threads(Connections& connections) : connections_(connections) {}

  bool enqueue(std::function<void()> connection) override {
    connections_.BreakLateOnes();
    if (taken_ >= HttpServer::kMostConnections) return false;
    ++taken_;
    return pool_.enqueue([this, connection = std::move(connection)] {
      connection();
      --taken_;
    });
  }
  void shutdown() override {
    connections_.End();
    pool_.shutdown();
  }
  void on_idle() override { connections_.BreakLateOnes(); }

 private:
  Connections& connections_;
  std::atomic<size_t> taken_ = 0;
  httplib::ThreadPool pool_{HttpServer::kMostConnections};
};

bool HasBody(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return (!length.empty() && length != "0") || request.has_header("Transfer-Encoding");
}

}  // namespace

class HttpServer::Listener final : public httplib::Server {
 public:
  Listener(base::UniqueFd listening, HttpServer::Handler handler) : handler_(std::move(handler)) {
    svr_sock_ = listening.Release();
    new_task_queue = [this] { return new Threads(connections_); };
    set_idle_interval(kSweepInterval);
    set_read_timeout(kPauseLimit);
    set_write_timeout(kPauseLimit);
    set_keep_alive_timeout(kIdleLimit.count());
    set_payload_max_length(0);
    // Every request, whatever its path.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Answer answer = AnswerTo(request);
      response.status = answer.status;
      if (answer.status == 405) response.set_header("Allow", "GET, HEAD");
      response.set_content(std::move(answer.body), answer.type);
      return HandlerResponse::Handled;
    });
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) { response.status = 500; });
  }

 private:
  Answer AnswerTo(const httplib::Request& request) const {
    if (HasBody(request)) return {.status = 413, .body = "requests with a body are not taken\n"};
    if (request.method != "GET" && request.method != "HEAD") {
      return {.status = 405, .body = "there is nothing to do here but to look\n"};
    }
    return handler_(request.path, request.get_header_value("Accept"));
  }

  // As the library does it, with the socket known.
  bool process_and_close_socket(socket_t socket) override {
    const auto await = [&] {
      connections_.Limit(socket, Deadline::After(kIdleLimit + kRequestLimit));
    };
    await();
    const bool answered = httplib::detail::process_server_socket(
        svr_sock_, socket, keep_alive_max_count_, keep_alive_timeout_sec_, read_timeout_sec_,
        read_timeout_usec_, write_timeout_sec_, write_timeout_usec_,
        [&](httplib::Stream& stream, bool last, bool& closed) {
          const bool again =
              process_request(stream, "", 0, "", 0, last, closed, [&](httplib::Request& request) {
                connections_.Limit(socket, Deadline::After(kAnswerLimit));
                request.ranges.clear();
                if (HasBody(request)) closed = true;  // which nobody reads
              });
          await();
          return again;
        });
    connections_.Remove(socket);
    httplib::detail::shutdown_socket(socket);
    httplib::detail::close_socket(socket);
    return answered;
  }

  const HttpServer::Handler handler_;
  Connections connections_;
};

HttpServer::HttpServer(base::UniqueFd listening, Handler handler)
    : listener_(std::make_unique<Listener>(std::move(listening), std::move(handler))),
      thread_([this] { listener_->listen_after_bind(); }) {
  listener_->wait_until_ready();
}

HttpServer::~HttpServer() {
  listener_->stop();
  thread_.join();
}

}  // namespace autodist::metrics
