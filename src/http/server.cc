#include "http/server.h"

#include <httplib.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "base/deadline.h"

namespace autodist::http {
namespace {

using namespace std::chrono_literals;
using base::Deadline;

// A request's first line and headers.
constexpr std::chrono::seconds kRequestLimit{10};
constexpr std::chrono::seconds kIdleLimit{5};  // between two requests
// Who takes nothing for so long is dropped, as is who has not taken a body, or one piece of it, by
// the second of these.
constexpr std::chrono::seconds kWriteLimit{5};
constexpr std::chrono::seconds kPieceLimit{10};
constexpr size_t kSlice = 64 << 10;  // bytes sent at a time
constexpr std::chrono::milliseconds kSweepInterval{500};

// The sockets of all connections, so that they can be broken off. Thread-safe.
class Connections {
 public:
  // The next request is awaited.
  void Await(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.insert_or_assign(socket, Deadline::After(kIdleLimit + kRequestLimit));
    if (ended_) shutdown(socket, SHUT_RDWR);
  }
  // It has come: the handler takes as long as it does.
  void Serve(int socket) {
    const std::lock_guard lock(mutex_);
    sockets_.insert_or_assign(socket, Deadline::Never());
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

// A thread for each connection, made when it is needed.
class Threads final : public httplib::TaskQueue {
 public:
  Threads(Connections& connections, size_t most) : connections_(connections), most_(most) {}

  bool enqueue(std::function<void()> connection) override {
    connections_.BreakLateOnes();
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= idle_) {
      if (threads_.size() >= most_) return false;
      try {
        threads_.emplace_back([this] { Run(); });
      } catch (const std::system_error&) {
        return false;  // the machine has no thread for it
      }
      ++idle_;
    }
    waiting_.push_back(std::move(connection));
    changed_.notify_one();
    return true;
  }
  void shutdown() override {
    connections_.End();
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  void on_idle() override { connections_.BreakLateOnes(); }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const auto connection = std::move(waiting_.front());
      waiting_.pop_front();
      --idle_;
      lock.unlock();
      connection();
      lock.lock();
      ++idle_;
    }
  }

  Connections& connections_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_, apart from threads_, which belongs to the thread that listens.
  bool ended_ = false;
  size_t idle_ = 0;  // threads that run no connection
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
};

bool SendPiece(const std::string& piece, httplib::DataSink& sink) {
  const Deadline deadline = Deadline::After(kPieceLimit);
  for (size_t at = 0; at < piece.size(); at += kSlice) {
    const std::string_view slice = std::string_view(piece).substr(at, kSlice);
    if (deadline.Expired() || !sink.write(slice.data(), slice.size())) return false;
  }
  return true;
}

void Fill(Answer answer, httplib::Response& response) {
  response.status = answer.status;
  for (auto& [name, value] : answer.headers) response.set_header(name, value);
  if (!answer.next && answer.body.size() <= kSlice) {
    return response.set_content(std::move(answer.body), answer.type);
  }
  if (!answer.next) {
    const size_t size = answer.body.size();
    return response.set_content_provider(
        size, answer.type,
        [body = std::move(answer.body)](size_t, size_t, httplib::DataSink& sink) {
          return SendPiece(body, sink);
        });
  }
  response.set_chunked_content_provider(
      answer.type, [next = std::move(answer.next)](size_t, httplib::DataSink& sink) {
        const Answer::Piece piece = next();
        if (!piece) {
          sink.done();
          return true;
        }
        return SendPiece(*piece, sink);
      });
}

Request From(const httplib::Request& request) {
  Request made{.method = request.method == "HEAD" ? "GET" : request.method,
               .path = request.path,
               .header = [&request](const char* name) { return request.get_header_value(name); },
               .gone = request.is_connection_closed};
  for (const auto& [name, value] : request.params) made.parameters.try_emplace(name, value);
  return made;
}

bool HasBody(const httplib::Request& request) {
  const std::string length = request.get_header_value("Content-Length");
  return (!length.empty() && length != "0") || request.has_header("Transfer-Encoding");
}

}  // namespace

class Server::Listener final : public httplib::Server {
 public:
  Listener(base::UniqueFd listening, http::Server::Handler handler, size_t most_connections)
      : handler_(std::move(handler)) {
    svr_sock_ = listening.Release();
    new_task_queue = [this, most_connections] {
      return new Threads(connections_, most_connections);
    };
    set_idle_interval(kSweepInterval);
    set_read_timeout(kWriteLimit);
    set_write_timeout(kWriteLimit);
    set_keep_alive_timeout(kIdleLimit.count());
    set_payload_max_length(0);
    // Every request, whatever its path: nothing is read of it before it has been let in.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      Fill(HasBody(request) ? Refusal(413, "Requests with a body are not taken here.")
                            : handler_(From(request)),
           response);
      return HandlerResponse::Handled;
    });
    set_exception_handler(
        [](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
          Fill(Refusal(500, "This request could not be answered."), response);
        });
  }

 private:
  // As the library does it, with the socket known.
  bool process_and_close_socket(socket_t socket) override {
    connections_.Await(socket);
    const bool answered = httplib::detail::process_server_socket(
        svr_sock_, socket, keep_alive_max_count_, keep_alive_timeout_sec_, read_timeout_sec_,
        read_timeout_usec_, write_timeout_sec_, write_timeout_usec_,
        [&](httplib::Stream& stream, bool last, bool& closed) {
          bool understood = false;
          const bool again =
              process_request(stream, "", 0, "", 0, last, closed, [&](auto& request) {
                understood = true;
                connections_.Serve(socket);
                request.ranges.clear();
                if (HasBody(request)) closed = true;
              });
          connections_.Await(socket);
          return again && understood;  // else what follows may be anything
        });
    connections_.Remove(socket);
    httplib::detail::shutdown_socket(socket);
    httplib::detail::close_socket(socket);
    return answered;
  }

  const http::Server::Handler handler_;
  Connections connections_;
};

Server::Server(base::UniqueFd listening, Handler handler, size_t most_connections)
    : listener_(
          std::make_unique<Listener>(std::move(listening), std::move(handler), most_connections)),
      thread_([this] { listener_->listen_after_bind(); }) {
  listener_->wait_until_ready();
}

Server::~Server() {
  listener_->stop();
  thread_.join();
}

}  // namespace autodist::http
