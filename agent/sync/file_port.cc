#include "agent/sync/file_port.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/ip_address.h"
#include "base/socket_address.h"
#include "base/tcp_connect.h"
#include "base/thread.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// The limit for clients to prove that they know the key.
constexpr milliseconds kFileHandshakeLimit{5'000};
// The limit without progress.
constexpr milliseconds kIdleLimit{60'000};
// The time without accepting after the system had no descriptor or memory.
constexpr milliseconds kFilePortPause{100};

using base::Deadline;
using secure::Progress;

constexpr std::chrono::milliseconds kAskInterval{100};  // between calls of `go_on`
constexpr char kClientName[] = "node";  // not an identity: all nodes have the same key

Status NotKept() {
  return Error(StatusCode::kUnavailable, "something else is there, or it hung up");
}

}  // namespace

std::string NumberAsBytes(uint64_t number) {
  std::string bytes(kNumberSize, '\0');
  for (size_t i = kNumberSize; i-- > 0; number >>= 8) bytes[i] = static_cast<char>(number & 0xFF);
  return bytes;
}

uint64_t NumberOf(const std::string& bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

Result<std::unique_ptr<FilePort>> FilePort::Open(const std::string& address, const secure::Key& key,
                                                 OpenFile open_file) {
  const auto ip = base::IpAddress::Parse(address);
  if (!ip) return Error(StatusCode::kInvalidArgument, "no address");
  AD_ASSIGN_OR_RETURN(base::Listening listening, base::Listen({*ip, 0}));
  std::unique_ptr<FilePort> port(new FilePort(std::move(listening), key, std::move(open_file)));
  AD_ASSIGN_OR_RETURN(port->stop_, base::Pipe());
  AD_ASSIGN_OR_RETURN(port->thread_, base::StartThread([&own = *port] { own.Serve(); }));
  return port;
}

FilePort::FilePort(base::Listening listening, const secure::Key& key, OpenFile open_file)
    : listening_(std::move(listening)),
      key_(key),
      open_file_(std::move(open_file)),
      buffer_(kFilePiece) {}

FilePort::~FilePort() {
  stop_.second.Reset();
  if (thread_.joinable()) thread_.join();
}

void FilePort::Serve() {
  std::vector<pollfd> fds;
  for (;;) {
    const bool accepting =
        accept_at_.Expired() && connections_.size() - Strangers() < kMaxConnections;
    fds = {{stop_.first.get(), POLLIN, 0}, {accepting ? listening_.socket.get() : -1, POLLIN, 0}};
    Deadline next = accept_at_.Expired() ? Deadline::Never() : accept_at_;
    for (const Connection& connection : connections_) {
      const short event = connection.Sends() ? POLLOUT : POLLIN;
      fds.push_back({connection.session->socket(), event, 0});
      next = connection.has_turn ? Deadline::After(milliseconds(0))
                                 : std::min(next, connection.close_at);
    }
    if (poll(fds.data(), fds.size(), next.PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    size_t i = 2;
    std::erase_if(connections_, [&](Connection& connection) {
      const bool ready = fds[i++].revents != 0 || connection.has_turn;
      return (ready && !Continue(connection)) || connection.close_at.Expired();
    });
    if (fds[1].revents != 0) Accept();
  }
}

size_t FilePort::Strangers() const {
  return static_cast<size_t>(std::ranges::count(connections_, false, &Connection::knows_key));
}

void FilePort::Accept() {
  base::UniqueFd socket(
      accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    if (errno != EAGAIN && errno != EINTR) accept_at_ = Deadline::After(kFilePortPause);
    return;
  }
  if (Strangers() >= kMaxStrangers) {
    connections_.erase(std::ranges::find(connections_, false, &Connection::knows_key));
  }
  const int on = 1;  // otherwise the end of a file would wait for acknowledgements
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connections_.push_back(
      {secure::Session::OfServer(std::move(socket), [this](std::string_view) { return key_; }),
       Deadline::After(kFileHandshakeLimit)});
}

bool FilePort::Continue(Connection& connection) {
  using secure::Progress;
  Progress progress = Progress::kDone;
  if (!connection.knows_key) {
    progress = connection.session->Handshake();
    connection.knows_key = progress == Progress::kDone;
  } else {
    progress = connection.Sends() ? Send(connection) : Receive(connection);
    connection.close_at = Deadline::After(kIdleLimit);
  }
  connection.has_turn = progress == Progress::kDone;
  return connection.has_turn || progress == Progress::kWaits;
}

secure::Progress FilePort::Receive(Connection& connection) {
  std::string& incoming = connection.incoming;
  size_t got = 0;
  const secure::Progress progress =
      connection.session->Read({buffer_.data(), kNumberSize - incoming.size()}, got);
  incoming.append(buffer_.data(), got);
  if (incoming.size() < kNumberSize) return progress;
  connection.file = open_file_(NumberOf(std::exchange(incoming, "")));
  connection.sent = 0;
  const bool found = connection.file.fd.valid();
  if (!found) connection.file.size = 0;
  connection.session->Write(NumberAsBytes(found ? connection.file.size : kNoSuchFile));
  return progress;
}

secure::Progress FilePort::Send(Connection& connection) {
  File& file = connection.file;
  if (!connection.session->has_to_send()) {
    const size_t size = std::min<uint64_t>(buffer_.size(), file.size - connection.sent);
    const ssize_t got =
        pread(file.fd.get(), buffer_.data(), size, static_cast<off_t>(connection.sent));
    if (got < 0 && errno == EINTR) return secure::Progress::kDone;
    if (got <= 0) return secure::Progress::kBroken;  // it was truncated
    connection.session->Write({buffer_.data(), static_cast<size_t>(got)});
    connection.sent += static_cast<size_t>(got);
  }
  const secure::Progress progress = connection.session->Flush();
  if (!connection.Sends()) file = {};
  return progress;
}

Result<FileSource> FileSource::Connect(const v1::SyncSource& source, const GoOn& go_on) {
  const auto address = base::IpAddress::Parse(source.address());
  if (!address || source.port() == 0 || source.port() > std::numeric_limits<uint16_t>::max()) {
    return Error(StatusCode::kInvalidArgument, "no address, or no port");
  }
  const auto key = secure::Key::FromHex(source.key());
  if (!key) return Error(StatusCode::kInvalidArgument, "no key");
  base::UniqueFd socket(
      ::socket(address->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = socket.get();
  if (fd < 0) return ErrnoError(errno, "socket");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const base::SocketAddress to(*address, static_cast<uint16_t>(source.port()));
  if (connect(fd, to.get(), to.length()) != 0 && errno != EINPROGRESS) {
    return ErrnoError(errno, "connect");
  }
  FileSource made(secure::Session::OfClient(std::move(socket), kClientName, *key));
  AD_RETURN_IF_ERROR(made.Await(POLLOUT, Deadline::After(kConnectLimit), go_on));
  if (const int error = base::ConnectResult(fd); error != 0) return ErrnoError(error, "connect");
  AD_RETURN_IF_ERROR(made.ShakeHands(go_on));
  return made;
}

Status FileSource::Get(uint64_t number, uint64_t size,
                       const std::function<bool(std::string_view)>& take, const GoOn& go_on) {
  AD_RETURN_IF_ERROR(Say(NumberAsBytes(number), go_on));
  AD_ASSIGN_OR_RETURN(const uint64_t has, HearNumber(go_on));
  if (has == kNoSuchFile) return Error(StatusCode::kNotFound, "it does not have the file");
  if (has != size) return NotKept();
  std::vector<char> buffer(std::min<uint64_t>(size, kFilePiece));
  Deadline deadline = Deadline::After(kPatience);
  for (uint64_t left = size, counted = size; left > 0;) {
    const size_t wanted = std::min<uint64_t>(left, buffer.size());
    AD_ASSIGN_OR_RETURN(const std::string_view piece,
                        ReadSome({buffer.data(), wanted}, deadline, go_on));
    left -= piece.size();
    if (counted - left >= kLeast) {
      counted = left;
      deadline = Deadline::After(kPatience);
    }
    if (!take(piece) || !go_on()) return Error(StatusCode::kCancelled, "cancelled");
  }
  return OkStatus();
}

Status FileSource::Await(short events, Deadline deadline, const GoOn& go_on) const {
  for (;;) {
    pollfd fd{session_->socket(), events, 0};
    const Deadline next = std::min(deadline, Deadline::After(kAskInterval));
    const int ready = poll(&fd, 1, next.PollTimeout());
    if (deadline.Expired()) return Error(StatusCode::kDeadlineExceeded, "too little comes");
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "poll");
    if (!go_on()) return Error(StatusCode::kCancelled, "cancelled");
  }
}

Status FileSource::ShakeHands(const GoOn& go_on) const {
  const Deadline deadline = Deadline::After(kPatience);
  for (;;) {
    const Progress progress = session_->Handshake();
    if (progress == Progress::kDone) return OkStatus();
    if (progress != Progress::kWaits) return NotKept();
    AD_RETURN_IF_ERROR(Await(POLLIN, deadline, go_on));
  }
}

Status FileSource::Say(std::string_view words, const GoOn& go_on) const {
  const Deadline deadline = Deadline::After(kPatience);
  session_->Write(words);
  for (;;) {
    const Progress progress = session_->Flush();
    if (progress == Progress::kDone) return OkStatus();
    if (progress != Progress::kWaits) return NotKept();
    AD_RETURN_IF_ERROR(Await(POLLOUT, deadline, go_on));
  }
}

Result<std::string_view> FileSource::ReadSome(std::span<char> buffer, Deadline deadline,
                                              const GoOn& go_on) const {
  for (;;) {
    size_t got = 0;
    const Progress progress = session_->Read(buffer, got);
    if (progress == Progress::kDone) return std::string_view(buffer.data(), got);
    if (progress != Progress::kWaits) return NotKept();
    AD_RETURN_IF_ERROR(Await(POLLIN, deadline, go_on));
  }
}

Result<uint64_t> FileSource::HearNumber(const GoOn& go_on) const {
  const Deadline deadline = Deadline::After(kPatience);
  std::string number(kNumberSize, '\0');
  for (size_t size = 0; size < kNumberSize;) {
    AD_ASSIGN_OR_RETURN(const std::string_view piece,
                        ReadSome(std::span(number).subspan(size), deadline, go_on));
    size += piece.size();
  }
  return NumberOf(number);
}

}  // namespace autodist::agent
