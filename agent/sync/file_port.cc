#include "agent/sync/file_port.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/ip_address.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

// Until the question must have come.
constexpr milliseconds kQuestionLimit{5'000};
// In which nothing moves.
constexpr milliseconds kIdleLimit{60'000};
// How long nobody is accepted when the system had no descriptor or memory.
constexpr milliseconds kFilePortPause{100};

// Takes as long for a wrong one as for the right one.
bool SameWord(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return false;
  unsigned differences = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    differences |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return differences == 0;
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

Result<std::unique_ptr<FilePort>> FilePort::Open(const std::string& address,
                                                 const v1::SyncWords& words, OpenFile open_file) {
  const auto ip = base::IpAddress::Parse(address);
  if (!ip || words.question().size() != kWordSize || words.answer().size() != kWordSize) {
    return Error(StatusCode::kInvalidArgument, "no address, or no words");
  }
  AD_ASSIGN_OR_RETURN(base::Listening listening, base::Listen({*ip, 0}));
  std::unique_ptr<FilePort> port(new FilePort(std::move(listening), words, std::move(open_file)));
  AD_ASSIGN_OR_RETURN(port->stop_, base::Pipe());
  port->thread_ = std::thread(&FilePort::Serve, port.get());
  return port;
}

FilePort::FilePort(base::Listening listening, const v1::SyncWords& words, OpenFile open_file)
    : listening_(std::move(listening)),
      words_(words),
      open_file_(std::move(open_file)),
      buffer_(kFilePiece) {}

FilePort::~FilePort() {
  stop_.second.Reset();
  if (thread_.joinable()) thread_.join();
}

void FilePort::Serve() {
  std::vector<pollfd> fds;
  for (;;) {
    const bool accepting = accept_at_.Expired() && connections_.size() < kMostConnections;
    fds = {{stop_.first.get(), POLLIN, 0}, {accepting ? listening_.socket.get() : -1, POLLIN, 0}};
    Deadline next = accept_at_.Expired() ? Deadline::Never() : accept_at_;
    for (const Connection& connection : connections_) {
      const short event = connection.Sends() ? POLLOUT : POLLIN;
      fds.push_back({connection.socket.get(), event, 0});
      next = std::min(next, connection.close_at);
    }
    if (poll(fds.data(), fds.size(), next.PollTimeout()) < 0) continue;
    if (fds[0].revents != 0) return;
    size_t i = 2;
    std::erase_if(connections_, [&](Connection& connection) {
      const bool ready = fds[i++].revents != 0;
      return (ready && !Continue(connection)) || connection.close_at.Expired();
    });
    if (fds[1].revents != 0) Accept();
  }
}

void FilePort::Accept() {
  base::UniqueFd socket(
      accept4(listening_.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.valid()) {
    if (!IsForLater(errno)) accept_at_ = Deadline::After(kFilePortPause);
    return;
  }
  const int on = 1;  // the end of a file would wait for what the other side acknowledges
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  connections_.push_back({std::move(socket), Deadline::After(kQuestionLimit)});
}

bool FilePort::Continue(Connection& connection) {
  if (!(connection.Sends() ? Send(connection) : Receive(connection))) return false;
  if (connection.knows_question) connection.close_at = Deadline::After(kIdleLimit);
  return true;
}

bool FilePort::Receive(Connection& connection) {
  std::string& incoming = connection.incoming;
  const size_t wanted = connection.knows_question ? kNumberSize : kWordSize;
  const ssize_t got = recv(connection.socket.get(), buffer_.data(), wanted - incoming.size(), 0);
  if (got < 0 && IsForLater(errno)) return true;
  if (got <= 0) return false;
  incoming.append(buffer_.data(), static_cast<size_t>(got));
  if (incoming.size() < wanted) return true;
  const std::string whole = std::exchange(incoming, "");
  if (!connection.knows_question) {
    connection.knows_question = SameWord(whole, words_.question());
    connection.outgoing = words_.answer();
    return connection.knows_question;
  }
  connection.file = open_file_(NumberOf(whole));
  connection.sent = 0;
  const bool found = connection.file.fd.valid();
  if (!found) connection.file.size = 0;
  connection.outgoing = NumberAsBytes(found ? connection.file.size : kNoSuchFile);
  return true;
}

bool FilePort::Send(Connection& connection) {
  File& file = connection.file;
  std::string_view piece = connection.outgoing;
  if (piece.empty()) {
    const size_t size = std::min<uint64_t>(buffer_.size(), file.size - connection.sent);
    const ssize_t got =
        pread(file.fd.get(), buffer_.data(), size, static_cast<off_t>(connection.sent));
    if (got <= 0) return got < 0 && errno == EINTR;  // it has become shorter
    piece = {buffer_.data(), static_cast<size_t>(got)};
  }
  const ssize_t taken = send(connection.socket.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
  if (taken < 0) return IsForLater(errno);
  if (connection.outgoing.empty()) {
    connection.sent += static_cast<size_t>(taken);
  } else {
    connection.outgoing.erase(0, static_cast<size_t>(taken));
  }
  if (!connection.Sends()) file = {};
  return true;
}

}  // namespace autodist::agent
