#include "agent/prepare/ports.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/ip_address.h"
#include "base/quantity.h"
#include "base/socket_address.h"
#include "base/tcp_connect.h"
#include "base/thread.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// How long a peer may keep a connection open; longer than a test takes.
constexpr milliseconds kPeerLimit{20'000};
// The time without progress after which a payload has stalled: by then TCP has retransmitted four
// times, and path MTU discovery has succeeded if it can.
constexpr milliseconds kStallLimit{3000};
// The limit for payloads that are still arriving, which are merely slow.
constexpr milliseconds kPayloadLimit{6000};
constexpr size_t kPiece = 64 << 10;  // of a payload
// The time without accepting after the system had no descriptor or memory.
constexpr milliseconds kAcceptPause{100};
constexpr uint32_t kHighestPort = std::numeric_limits<uint16_t>::max();

base::UniqueFd StreamSocket(bool v6) {
  return base::UniqueFd(
      socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void SetOption(const base::UniqueFd& fd, int level, int name, int value) {
  setsockopt(fd.get(), level, name, &value, sizeof value);
}

// Returns the number of bytes that the other side has not acknowledged.
size_t Unacknowledged(const base::UniqueFd& fd) {
  int bytes = 0;
  return ioctl(fd.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<size_t>(bytes) : 0;
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

// Listens at the port; 0: one that the system selects.
Result<base::UniqueFd> ListenAt(uint16_t port) {
  const std::string what = port == 0 ? "opening a port" : "port " + std::to_string(port);
  base::UniqueFd fd = StreamSocket(true);
  base::IpAddress any;
  any.v6 = fd.valid();  // also accepts IPv4
  if (!any.v6) fd = StreamSocket(false);
  if (!fd.valid()) return ErrnoError(errno, what);
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);  // otherwise earlier connections would block it
  if (any.v6) SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const base::SocketAddress address(any, port);
  if (bind(fd.get(), address.get(), address.length()) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
    return ErrnoError(errno, what);
  }
  return fd;
}

// The message to a peer about the received bytes.
std::string CountText(uint64_t bytes) { return "got " + std::to_string(bytes) + "\n"; }

}  // namespace

std::vector<uint32_t> PortsTaken(const google::protobuf::RepeatedField<uint32_t>& ports) {
  std::vector<uint32_t> taken;
  for (const uint32_t port : ports) {
    if (port > kHighestPort) continue;
    const Status opened = ListenAt(static_cast<uint16_t>(port)).status();
    // If the port may not be opened at all, the program reports that.
    if (opened.code() == StatusCode::kAlreadyExists) taken.push_back(port);
  }
  return taken;
}

Result<std::unique_ptr<PortListener>> PortListener::Open(const v1::OpenPortsRequest& request,
                                                         v1::OpenPortsResponse& response) {
  if (request.token().size() > kMaxTokenLength) {
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
    const bool accepting = accept_at_.Expired() && connections_.size() < kMaxConnections;
    fds.assign(1, {stop_.first.get(), POLLIN, 0});
    for (const Connection& connection : connections_) {
      fds.push_back({connection.fd.get(), connection.counted ? short{0} : short{POLLIN}, 0});
    }
    for (const base::UniqueFd& listener : listeners_) {
      fds.push_back({accepting ? listener.get() : -1, POLLIN, 0});
    }
    if (poll(fds.data(), fds.size(), NextDeadline().PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    const size_t first_listener = 1 + connections_.size();
    size_t next = 1;
    std::erase_if(connections_, [&](Connection& connection) {
      if (fds[next++].revents == 0) return connection.close_at.Expired();
      return !Read(connection) || connection.close_at.Expired();
    });
    for (size_t i = first_listener; i < fds.size(); ++i) {
      if (fds[i].revents != 0) Accept(fds[i].fd);
    }
  }
}

// Returns false when the connection is done.
bool PortListener::Read(Connection& connection) {
  const ssize_t got = recv(connection.fd.get(), ignored_.data(), ignored_.size(), 0);
  if (got < 0) return IsTransient(errno);
  connection.received += static_cast<uint64_t>(got);
  if (got > 0) return true;
  // The whole payload is here. The peer closes when it has the number.
  if (connection.counted || connection.received == 0) return false;
  connection.counted = true;
  const std::string count = CountText(connection.received);
  return send(connection.fd.get(), count.data(), count.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(count.size());
}

void PortListener::Accept(int listener) {
  while (connections_.size() < kMaxConnections) {
    base::UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      const bool exhausted =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) accept_at_ = Deadline::After(kAcceptPause);
      return;
    }
    // The side that closes first would keep the port in TIME_WAIT; a reset avoids that.
    base::ResetOnClose(fd.get());
    // The buffer of a new connection has room for it. The peer closes when it has read it.
    const ssize_t sent = send(fd.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(token_.size())) continue;
    Connection& connection = connections_.emplace_back();
    connection.fd = std::move(fd);
    connection.close_at = Deadline::After(kPeerLimit);
  }
}

namespace {

// The connection to one target, from the start to the result.
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
    base::ResetOnClose(fd_.get());
    began_ = Deadline::Clock::now();
    const base::SocketAddress to(*address, static_cast<uint16_t>(target_->port()));
    if (connect(fd_.get(), to.get(), to.length()) != 0 && errno != EINPROGRESS) {
      Fail(std::strerror(errno));
    }
  }

  bool over() const { return !fd_.valid(); }
  Deadline give_up_at() const { return give_up_at_; }
  pollfd WaitsFor() const {
    const bool writes = state_ == State::kConnecting || state_ == State::kSending;
    return {fd_.get(), writes ? short{POLLOUT} : short{POLLIN}, 0};
  }

  void Continue() {
    if (state_ == State::kConnecting) NoteConnection();
    if (state_ == State::kToken) Read(target_->token(), [this] { BeginPayload(); });
    if (state_ == State::kSending) Send();
    if (state_ == State::kCounting) Read(CountText(target_->payload()), [this] { fd_.Reset(); });
  }

  // Called after the time limit; a payload that is still arriving continues.
  void GiveUp(const std::string& after) {
    if (state_ == State::kConnecting) return Fail("timed out after " + after);
    if (state_ == State::kToken) return Fail("connected, but nothing came within " + after);
    const size_t arrived = sent_ - std::min(sent_, Unacknowledged(fd_));
    if (arrived > arrived_ && slow_at_.Expired()) return fd_.Reset();
    if (arrived > arrived_) {
      arrived_ = arrived;
      give_up_at_ = std::min(Deadline::After(kStallLimit), slow_at_);
      return;
    }
    result_->set_stalled(true);
    const std::string message = "a message of " + base::BinaryBytes(target_->payload());
    Fail(arrived == 0 ? "nothing of " + message + " arrives"
                      : message + " stalls after " + base::BinaryBytes(arrived));
  }
  void Fail(const std::string& issue) {
    result_->set_error(issue);
    fd_.Reset();
  }

 private:
  void NoteConnection() {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Fail(std::strerror(error));
    state_ = State::kToken;
    const auto took =
        std::chrono::duration_cast<std::chrono::microseconds>(Deadline::Clock::now() - began_);
    // The kernel measures the handshake itself, independently of load, and excludes
    // retransmissions.
    tcp_info info{};
    length = sizeof info;
    const bool measured = getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                          info.tcpi_rtt > 0 && info.tcpi_total_retrans == 0;
    result_->set_latency_us(measured ? info.tcpi_rtt : static_cast<uint32_t>(took.count()));
  }

  template <typename Done>
  void Read(const std::string& expected, const Done& done) {
    const std::string_view missing = std::string_view(expected).substr(received_);
    if (missing.empty()) return done();
    std::array<char, PortListener::kMaxTokenLength> buffer;
    const ssize_t got = recv(fd_.get(), buffer.data(), std::min(buffer.size(), missing.size()), 0);
    if (got < 0 && IsTransient(errno)) return;
    if (got < 0) return Fail(std::string("connected, but then: ") + std::strerror(errno));
    const std::string_view read(buffer.data(), static_cast<size_t>(got));
    if (read.empty() || !missing.starts_with(read)) return Fail("something else answers there");
    received_ += read.size();
    if (read.size() == missing.size()) done();
  }

  void BeginPayload() {
    if (target_->payload() == 0) return fd_.Reset();
    state_ = State::kSending;
    received_ = 0;
    slow_at_ = Deadline::After(kPayloadLimit);
    give_up_at_ = Deadline::After(kStallLimit);
  }

  void Send() {
    static constexpr std::array<char, kPiece> kZeros{};
    while (sent_ < target_->payload()) {
      const size_t size = std::min<size_t>(kPiece, target_->payload() - sent_);
      const ssize_t sent = send(fd_.get(), kZeros.data(), size, MSG_NOSIGNAL);
      if (sent < 0 && IsTransient(errno)) return;
      if (sent < 0) return Fail(std::string("in the midst of a message: ") + std::strerror(errno));
      sent_ += static_cast<size_t>(sent);
    }
    state_ = State::kCounting;
    shutdown(fd_.get(), SHUT_WR);
  }

  enum class State { kConnecting, kToken, kSending, kCounting };

  const v1::PortTarget* target_;
  v1::PortTry* result_;
  Deadline give_up_at_;
  base::UniqueFd fd_;  // invalid after the end
  Deadline::Clock::time_point began_;
  State state_ = State::kConnecting;
  size_t received_ = 0;  // in this state
  size_t sent_ = 0;      // of the payload
  size_t arrived_ = 0;   // acknowledged ones at the last check
  Deadline slow_at_ = Deadline::Never();
};

// Waits until one of them can continue or has timed out; false on a stop.
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

  const auto turns = static_cast<int64_t>((count + kMaxTries - 1) / kMaxTries);
  const milliseconds limit_of_each = limit / std::max<int64_t>(turns, 1);
  std::vector<Try> running;
  size_t begun = 0;
  bool go_on = true;
  while (go_on && (begun < count || !running.empty())) {
    for (; begun < count && running.size() < kMaxTries; ++begun) {
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
