#include "agent/prepare/ports.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/ip_address.h"
#include "base/quantity.h"
#include "base/socket_address.h"
#include "base/thread.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// How long a peer may keep a connection to us open.
constexpr milliseconds kPeerLimit{5000};
// How long no connection is accepted after the system had no descriptor or memory for one.
constexpr milliseconds kAcceptPause{100};
constexpr uint32_t kHighestPort = std::numeric_limits<uint16_t>::max();

base::UniqueFd StreamSocket(bool v6) {
  return base::UniqueFd(
      socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void SetOption(const base::UniqueFd& fd, int level, int name, int value) {
  setsockopt(fd.get(), level, name, &value, sizeof value);
}

// Whoever closes first would keep the port in TIME_WAIT; a reset leaves nothing behind.
void ResetOnClose(const base::UniqueFd& fd) {
  const linger none{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

bool IsTransient(int error) { return error == EAGAIN || error == EINTR; }

Result<uint16_t> PortOf(const base::UniqueFd& fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return ErrnoError(errno, "getsockname");
  }
  const auto* v4_address = reinterpret_cast<const sockaddr_in*>(&storage);
  const auto* v6_address = reinterpret_cast<const sockaddr_in6*>(&storage);
  return ntohs(storage.ss_family == AF_INET6 ? v6_address->sin6_port : v4_address->sin_port);
}

// Listens at the port, or one that the system chooses for 0.
Result<base::UniqueFd> ListenAt(uint16_t port) {
  const std::string what = port == 0 ? "opening a port" : "port " + std::to_string(port);
  base::UniqueFd fd = StreamSocket(true);
  base::IpAddress any;
  any.v6 = fd.valid();  // and IPv4 with it
  if (!any.v6) fd = StreamSocket(false);
  if (!fd.valid()) return ErrnoError(errno, what);
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);  // else earlier connections would keep it busy
  if (any.v6) SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const base::SocketAddress address(any, port);
  if (bind(fd.get(), address.get(), address.length()) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return ErrnoError(errno, what);
  }
  return fd;
}

}  // namespace

std::vector<uint32_t> PortsTaken(const google::protobuf::RepeatedField<uint32_t>& ports) {
  std::vector<uint32_t> taken;
  for (const uint32_t port : ports) {
    if (port > kHighestPort) continue;
    const Status opened = ListenAt(static_cast<uint16_t>(port)).status();
    // That it may not be opened at all is for the program to say.
    if (opened.code() == StatusCode::kAlreadyExists) taken.push_back(port);
  }
  return taken;
}

Result<std::unique_ptr<PortListener>> PortListener::Open(const v1::OpenPortsRequest& request,
                                                         v1::OpenPortsResponse& response) {
  if (request.token().size() > kLongestToken) {
    return Error(StatusCode::kInvalidArgument, "the token is too long");
  }
  std::unique_ptr<PortListener> listener(new PortListener(request.token()));
  AD_ASSIGN_OR_RETURN(listener->stop_, base::Pipe());
  if (const uint32_t wanted = request.wanted_port(); wanted > kHighestPort) {
    response.set_wanted_error("there is no port " + std::to_string(wanted));
  } else if (wanted != 0) {
    const auto opened = listener->Listen(static_cast<uint16_t>(wanted));
    response.set_wanted_port(opened.value_or(0));
    if (!opened.ok()) response.set_wanted_error(Message(opened.status()));
  }
  AD_ASSIGN_OR_RETURN(const uint16_t free_port, listener->Listen(0));
  response.set_free_port(free_port);
  AD_ASSIGN_OR_RETURN(listener->thread_, base::StartThread([&own = *listener] { own.Serve(); }));
  return listener;
}

PortListener::~PortListener() {
  stop_.second.Reset();
  if (thread_.joinable()) thread_.join();
}

Result<uint16_t> PortListener::Listen(uint16_t port) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd fd, ListenAt(port));
  AD_ASSIGN_OR_RETURN(const uint16_t opened, PortOf(fd));
  listeners_.push_back(std::move(fd));
  return opened;
}

Deadline PortListener::NextDeadline() const {
  const Deadline closing = connections_.empty() ? Deadline::Never() : connections_.front().close_at;
  return accept_at_.Expired() ? closing : std::min(closing, accept_at_);
}

void PortListener::Serve() {
  std::vector<pollfd> fds;
  for (;;) {
    const bool accepting = accept_at_.Expired() && connections_.size() < kMostConnections;
    fds.assign(1, {stop_.first.get(), POLLIN, 0});
    for (const Connection& connection : connections_) {
      fds.push_back({connection.fd.get(), POLLIN, 0});
    }
    for (const base::UniqueFd& listener : listeners_) {
      fds.push_back({accepting ? listener.get() : -1, POLLIN, 0});
    }
    if (poll(fds.data(), fds.size(), NextDeadline().PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    const size_t first_listener = 1 + connections_.size();
    size_t next = 1;
    std::erase_if(connections_, [&](const Connection& connection) {
      if (fds[next++].revents == 0) return connection.close_at.Expired();
      std::array<char, 256> ignored;
      const ssize_t got = recv(connection.fd.get(), ignored.data(), ignored.size(), 0);
      return got == 0 || (got < 0 && !IsTransient(errno)) || connection.close_at.Expired();
    });
    for (size_t i = first_listener; i < fds.size(); ++i) {
      if (fds[i].revents != 0) Accept(fds[i].fd);
    }
  }
}

void PortListener::Accept(int listener) {
  while (connections_.size() < kMostConnections) {
    base::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) accept_at_ = Deadline::After(kAcceptPause);
      return;
    }
    ResetOnClose(fd);
    // The buffer of a new connection has room for it. The peer closes when it has read it.
    const ssize_t sent = send(fd.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(token_.size())) continue;
    connections_.push_back({std::move(fd), Deadline::After(kPeerLimit)});
  }
}

namespace {

// One connection to a target, from its beginning to its result.
class Try {
 public:
  Try(const v1::PortTarget& target, v1::PortTry& result, Deadline give_up_at)
      : target_(&target), result_(&result), give_up_at_(give_up_at) {}

  void Begin() {
    const auto address = base::IpAddress::Parse(target_->address());
    if (!address) return Fail("'" + target_->address() + "' is not a numeric address");
    if (target_->port() == 0 || target_->port() > kHighestPort) {
      return Fail("there is no port " + std::to_string(target_->port()));
    }
    fd_ = StreamSocket(address->v6);
    if (!fd_.valid()) return Fail(std::string("socket: ") + std::strerror(errno));
    ResetOnClose(fd_);
    began_ = Deadline::Clock::now();
    const base::SocketAddress to(*address, static_cast<uint16_t>(target_->port()));
    if (connect(fd_.get(), to.get(), to.length()) != 0 && errno != EINPROGRESS) {
      Fail(std::strerror(errno));
    }
  }

  bool over() const { return !fd_.valid(); }
  Deadline give_up_at() const { return give_up_at_; }
  pollfd WaitsFor() const { return {fd_.get(), connected_ ? short{POLLIN} : short{POLLOUT}, 0}; }

  void Continue() {
    if (!connected_) NoteConnection();
    if (connected_) ReadToken();
  }

  void GiveUp(const std::string& after) {
    Fail(connected_ ? "connected, but nothing came within " + after : "timed out after " + after);
  }
  void Fail(const std::string& problem) {
    result_->set_error(problem);
    fd_.Reset();
  }

 private:
  void NoteConnection() {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Fail(std::strerror(error));
    connected_ = true;
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - began_);
    // The kernel measures the handshake itself, whatever else we and it were busy with. It does not
    // count what it had to send again.
    tcp_info info{};
    length = sizeof info;
    const bool measured = getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                          info.tcpi_rtt > 0 && info.tcpi_total_retrans == 0;
    result_->set_latency_us(measured ? info.tcpi_rtt : static_cast<uint32_t>(took.count()));
  }

  void ReadToken() {
    const std::string_view missing = std::string_view(target_->token()).substr(received_);
    if (missing.empty()) return fd_.Reset();
    std::array<char, PortListener::kLongestToken> buffer;
    const ssize_t got = recv(fd_.get(), buffer.data(), std::min(buffer.size(), missing.size()), 0);
    if (got < 0 && IsTransient(errno)) return;
    if (got < 0) return Fail(std::string("connected, but then: ") + std::strerror(errno));
    const std::string_view read(buffer.data(), static_cast<size_t>(got));
    if (read.empty() || !missing.starts_with(read)) return Fail("something else answers there");
    received_ += read.size();
    if (read.size() == missing.size()) fd_.Reset();
  }

  const v1::PortTarget* target_;
  v1::PortTry* result_;
  Deadline give_up_at_;
  base::UniqueFd fd_;  // invalid when it is over
  Deadline::Clock::time_point began_;
  bool connected_ = false;
  size_t received_ = 0;  // bytes of the token
};

// Waits until one of them can go on or must be given up; false if asked to stop.
bool WaitAndContinue(std::vector<Try>& running, int stop, const std::string& limit_of_each) {
  std::vector<pollfd> fds{{stop, POLLIN, 0}};
  Deadline next = Deadline::Never();
  for (const Try& attempt : running) {
    fds.push_back(attempt.WaitsFor());
    next = std::min(next, attempt.give_up_at());
  }
  if (poll(fds.data(), fds.size(), next.PollTimeout()) < 0) return true;
  if (fds[0].revents != 0) return false;
  for (size_t i = 0; i < running.size(); ++i) {
    if (fds[i + 1].revents != 0) running[i].Continue();
    if (!running[i].over() && running[i].give_up_at().Expired()) running[i].GiveUp(limit_of_each);
  }
  std::erase_if(running, [](const Try& attempt) { return attempt.over(); });
  return true;
}

}  // namespace

std::vector<v1::PortTry> ConnectToAll(
    const google::protobuf::RepeatedPtrField<v1::PortTarget>& targets, milliseconds limit,
    const std::stop_token& stop) {
  const auto count = static_cast<size_t>(targets.size());
  std::vector<v1::PortTry> results(count);
  auto stop_pipe = base::Pipe();
  if (!stop_pipe.ok()) {
    for (v1::PortTry& result : results) result.set_error(Message(stop_pipe.status()));
    return results;
  }
  const std::stop_callback on_stop(stop, [&stop_pipe] { stop_pipe->second.Reset(); });

  const auto turns = static_cast<int64_t>((count + kMostTries - 1) / kMostTries);
  const milliseconds limit_of_each = limit / std::max<int64_t>(turns, 1);
  std::vector<Try> running;
  size_t begun = 0;
  bool go_on = true;
  while (go_on && (begun < count || !running.empty())) {
    for (; begun < count && running.size() < kMostTries; ++begun) {
      Try attempt(targets[static_cast<int>(begun)], results[begun], Deadline::After(limit_of_each));
      attempt.Begin();
      if (!attempt.over()) running.push_back(std::move(attempt));
    }
    if (!running.empty()) {
      go_on = WaitAndContinue(running, stop_pipe->first.get(), base::Seconds(limit_of_each));
    }
  }
  for (Try& attempt : running) attempt.Fail("not tried to the end: the agent is ending");
  for (; begun < count; ++begun) results[begun].set_error("not tried: the agent is ending");
  return results;
}

}  // namespace autodist::agent
