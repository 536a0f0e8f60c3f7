#include "http/server.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/exceptions.h"
#include "base/task_queue.h"
#include "base/tcp_connect.h"
#include "http/connection.h"

namespace autodist::http {
namespace {

// Creates threads on demand up to a limit, and keeps them. Not thread-safe; only the destructor
// blocks.
class Threads {
 public:
  explicit Threads(size_t max) : max_(max) {}
  // Blocks until all tasks have ended.
  ~Threads();

  // Runs the task, or queues it if all threads are busy. False: no thread could be created.
  bool Post(std::function<void()> task);

 private:
  void Run();

  const size_t max_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;  // guarded by mutex_, as are these two
  size_t idle_ = 0;     // threads without a task
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
};

Threads::~Threads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool Threads::Post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() >= idle_ && threads_.size() < max_) {
    try {
      threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
      return false;
    }
    ++idle_;
  }
  waiting_.push_back(std::move(task));
  changed_.notify_one();
  return true;
}

void Threads::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto task = std::exchange(waiting_.front(), nullptr);
    waiting_.pop_front();
    --idle_;
    lock.unlock();
    task();
    lock.lock();
    ++idle_;
  }
}

using base::Deadline;

constexpr std::chrono::seconds kIdleLimit{5};   // until a request begins
constexpr std::chrono::seconds kHeadLimit{10};  // until a request is complete
// Time for a client to disconnect after its last answer: closing earlier could discard an answer
// that is still under way.
constexpr std::chrono::seconds kHangUpLimit{2};
constexpr std::chrono::seconds kLastAnswersLimit{1};    // when the server ends
constexpr std::chrono::milliseconds kAcceptPause{100};  // after a failure
constexpr int kAcceptedAtOnce = 64;

using ConnectionPtr = std::shared_ptr<Connection>;
using State = Connection::State;

}  // namespace

// Used by the server's thread, except Start and End.
class Server::Loop {
 public:
  Loop(base::UniqueFd socket, Options options, Handlers handlers)
      : socket_(std::move(socket)),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        threads_(options_.max_strangers + options_.max_authenticated) {}

  Status Start() {
    AD_RETURN_IF_ERROR(tasks_.Open());
    thread_ = std::thread([this] { base::HandlingExceptions([this] { Run(); }); });
    return OkStatus();
  }
  void End() {
    if (!thread_.joinable()) return;
    tasks_.Post([this] { ended_ = true; });
    thread_.join();
  }

 private:
  void Run();
  bool AnswersSome() const;
  void Accept();
  void Handle(const ConnectionPtr& connection, bool readable);
  void Refuse(Connection& connection, const Answer& answer, bool with_body = true);
  void Close(Connection& connection);
  void ReadRequest(const ConnectionPtr& connection);
  Admission Admit(const Request& request) const;
  void Serve(const ConnectionPtr& connection, RequestHead head);
  bool Answered(Connection& connection, const RequestHead& head) const;
  void Served(const ConnectionPtr& connection, bool again);
  bool MakeRoom(bool authenticated, size_t limit);
  void Drop(const ConnectionPtr& connection);

  const base::UniqueFd socket_;
  const Options options_;
  const Handlers handlers_;
  base::TaskQueue tasks_;
  bool ended_ = false;
  Deadline accept_again_ = Deadline::After({});
  std::vector<ConnectionPtr> connections_;
  Threads threads_;  // destroyed before the members that tasks use
  std::thread thread_;
};

void Server::Loop::Run() {
  while (!ended_) {
    const bool accepts = accept_again_.Expired();
    std::vector<pollfd> polled = {{tasks_.fd(), POLLIN, 0},
                                  {accepts ? socket_.get() : -1, POLLIN, 0}};
    std::vector<ConnectionPtr> awaited;
    Deadline next = accepts ? Deadline::Never() : accept_again_;
    for (const ConnectionPtr& connection : connections_) {
      if (connection->state == State::kServing) continue;
      polled.push_back({connection->socket(), POLLIN, 0});
      awaited.push_back(connection);
      next = std::min(next, connection->deadline);
    }
    if (poll(polled.data(), polled.size(), next.PollTimeout()) < 0) continue;
    tasks_.RunAll();
    for (size_t i = 0; i < awaited.size(); ++i) Handle(awaited[i], polled[i + 2].revents != 0);
    if (polled[1].revents != 0) Accept();
  }
  const Deadline end = Deadline::After(kLastAnswersLimit);
  while (AnswersSome() && !end.Expired()) {
    pollfd served = {tasks_.fd(), POLLIN, 0};
    poll(&served, 1, end.PollTimeout());
    tasks_.RunAll();
  }
  for (const ConnectionPtr& connection : connections_) connection->Abort();
}

bool Server::Loop::AnswersSome() const {
  return std::ranges::any_of(connections_, [](const ConnectionPtr& connection) {
    return connection->state == State::kServing && !connection->streams();
  });
}

void Server::Loop::Accept() {
  for (int accepted = 0; accepted < kAcceptedAtOnce; ++accepted) {
    base::UniqueFd socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      // Without free descriptors, clients wait in the backlog.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        accept_again_ = Deadline::After(kAcceptPause);
      }
      return;
    }
    if (!MakeRoom(false, options_.max_strangers)) continue;
    base::GiveUpWhenSilent(socket.get());
    auto connection = std::make_shared<Connection>(std::move(socket));
    connection->deadline = Deadline::After(kIdleLimit);
    connections_.push_back(connection);
    Handle(connection, true);  // usually the request has arrived already
  }
}

// Handles input and timeouts of a connection whose turn is the client's.
void Server::Loop::Handle(const ConnectionPtr& connection, bool readable) {
  if (connection->state == State::kDropped) return;
  const bool began = !connection->input.empty();
  if ((readable && !connection->Receive()) || connection->deadline.Expired()) {
    return Drop(connection);
  }
  if (connection->state == State::kClosing || connection->input.empty()) return;
  if (!began) connection->deadline = Deadline::After(kHeadLimit);
  ReadRequest(connection);
}

void Server::Loop::ReadRequest(const ConnectionPtr& connection) {
  std::string& input = connection->input;
  const size_t size = HeadSize(input);
  if (size == 0) {
    if (input.size() >= kMaxHead) Refuse(*connection, TooLarge(input));
    return;
  }
  auto head = ReadHead(std::string_view(input).substr(0, size));
  if (const auto* refusal = std::get_if<Answer>(&head)) return Refuse(*connection, *refusal);
  input.erase(0, size);
  auto& request = std::get<RequestHead>(head);
  request.request.gone = [connection = connection.get()] { return connection->Gone(); };
  const Admission admission = Admit(request.request);
  if (admission.instead) return Refuse(*connection, *admission.instead, !request.is_head);
  if (admission.authenticated && !connection->authenticated()) {
    connection->AwaitsHandler();
    connection->Authenticate();
    if (!MakeRoom(true, options_.max_authenticated + 1)) {
      return Refuse(*connection, Refusal(503, "Too many connections are in use."));
    }
  }
  Serve(connection, std::move(request));
}

Admission Server::Loop::Admit(const Request& request) const {
  if (!IsOurHost(request.header("Host"), options_.listening)) {
    return {Refusal(403, "Unknown host name: open the address that autodist printed.")};
  }
  return handlers_.admit(request);
}

void Server::Loop::Refuse(Connection& connection, const Answer& answer, bool with_body) {
  connection.SendAtOnce(answer, with_body);
  Close(connection);
}

void Server::Loop::Close(Connection& connection) {
  shutdown(connection.socket(), SHUT_WR);
  connection.AwaitsClient();
  connection.state = State::kClosing;
  connection.input = {};
  connection.deadline = Deadline::After(kHangUpLimit);
}

void Server::Loop::Serve(const ConnectionPtr& connection, RequestHead head) {
  connection->AwaitsHandler();
  connection->state = State::kServing;
  const bool posted = threads_.Post([this, connection, head = std::move(head)] {
    const bool again = Answered(*connection, head) && !head.close;
    tasks_.Post([this, connection, again] { Served(connection, again); });
  });
  if (!posted) Drop(connection);
}

// Runs on a handler's thread. False: the answer is incomplete.
bool Server::Loop::Answered(Connection& connection, const RequestHead& head) const {
  Answer answer;
  try {
    answer = handlers_.answer(head.request);
  } catch (const std::exception&) {
    answer = Refusal(500, "Internal error.");
  }
  try {
    return connection.Send(answer, head);
  } catch (const std::exception&) {  // thrown by `next`
    return false;
  }
}

void Server::Loop::Served(const ConnectionPtr& connection, bool again) {
  if (connection->state == State::kDropped) return;
  connection->state = State::kReading;
  if (!again || ended_) return Close(*connection);
  connection->deadline = Deadline::After(kIdleLimit);
  if (connection->input.empty()) return;
  connection->deadline = Deadline::After(kHeadLimit);
  ReadRequest(connection);
}

// If this kind of connection is at its limit, drops the one whose client has been silent longest.
// False: all of them wait for the server.
bool Server::Loop::MakeRoom(bool authenticated, size_t limit) {
  std::vector<ConnectionPtr> these;
  for (const ConnectionPtr& connection : connections_) {
    if (connection->authenticated() == authenticated) these.push_back(connection);
  }
  if (these.size() < limit) return true;
  const auto longest = std::ranges::min_element(
      these, {}, [](const ConnectionPtr& connection) { return connection->silent_since(); });
  if (longest == these.end() || (*longest)->silent_since() == Connection::Time::max()) return false;
  Drop(*longest);
  return true;
}

// A handler that still holds it can no longer send.
void Server::Loop::Drop(const ConnectionPtr& connection) {
  connection->Abort();
  connection->state = State::kDropped;
  std::erase(connections_, connection);
}

Server::Server(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Result<std::unique_ptr<Server>> Server::Start(base::UniqueFd socket, Options options,
                                              Handlers handlers) {
  auto loop = std::make_unique<Loop>(std::move(socket), std::move(options), std::move(handlers));
  AD_RETURN_IF_ERROR(loop->Start());
  return std::unique_ptr<Server>(new Server(std::move(loop)));
}

Server::~Server() { loop_->End(); }

}  // namespace autodist::http
