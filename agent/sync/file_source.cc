#include "agent/sync/file_source.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "agent/sync/file_port.h"
#include "base/ip_address.h"
#include "base/socket_address.h"

namespace autodist::agent {
namespace {

using base::Deadline;

constexpr std::chrono::milliseconds kAskInterval{100};  // whether to go on

Status NotKept() { return Error(StatusCode::kUnavailable, "something else answers there"); }

}  // namespace

Result<FileSource> FileSource::Connect(const v1::SyncSource& source, const GoOn& go_on) {
  const auto address = base::IpAddress::Parse(source.address());
  if (!address || source.port() == 0 || source.port() > std::numeric_limits<uint16_t>::max()) {
    return Error(StatusCode::kInvalidArgument, "no address, or no port");
  }
  FileSource made(base::UniqueFd(
      socket(address->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)));
  const int fd = made.socket_.get();
  if (fd < 0) return ErrnoError(errno, "socket");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const base::SocketAddress to(*address, static_cast<uint16_t>(source.port()));
  if (connect(fd, to.get(), to.length()) != 0 && errno != EINPROGRESS) {
    return ErrnoError(errno, "connect");
  }
  AD_RETURN_IF_ERROR(made.Await(POLLOUT, Deadline::After(kConnectLimit), go_on));
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return ErrnoError(error, "connect");
  AD_RETURN_IF_ERROR(made.Say(source.words().question(), go_on));
  AD_ASSIGN_OR_RETURN(const std::string answer, made.Hear(kWordSize, go_on));
  if (answer != source.words().answer()) return NotKept();
  return made;
}

Status FileSource::Get(uint64_t number, uint64_t size,
                       const std::function<bool(std::string_view)>& take, const GoOn& go_on) {
  AD_RETURN_IF_ERROR(Say(NumberAsBytes(number), go_on));
  AD_ASSIGN_OR_RETURN(const std::string told, Hear(kNumberSize, go_on));
  const uint64_t has = NumberOf(told);
  if (has == kNoSuchFile) return Error(StatusCode::kNotFound, "it does not have the file");
  if (has != size) return NotKept();
  std::vector<char> buffer(std::min<uint64_t>(size, kFilePiece));
  Deadline deadline = Deadline::After(kPatience);
  for (uint64_t left = size, counted = size; left > 0;) {
    AD_RETURN_IF_ERROR(Await(POLLIN, deadline, go_on));
    const ssize_t got =
        recv(socket_.get(), buffer.data(), std::min<uint64_t>(left, buffer.size()), 0);
    if (got < 0 && IsForLater(errno)) continue;
    if (got < 0) return ErrnoError(errno, "recv");
    if (got == 0) return NotKept();
    left -= static_cast<uint64_t>(got);
    if (counted - left >= kLeast) {
      counted = left;
      deadline = Deadline::After(kPatience);
    }
    if (!take({buffer.data(), static_cast<size_t>(got)}) || !go_on()) {
      return Error(StatusCode::kCancelled, "cancelled");
    }
  }
  return OkStatus();
}

Status FileSource::Await(short events, Deadline deadline, const GoOn& go_on) const {
  for (;;) {
    pollfd fd{socket_.get(), events, 0};
    const Deadline next = std::min(deadline, Deadline::After(kAskInterval));
    const int ready = poll(&fd, 1, next.PollTimeout());
    if (deadline.Expired()) return Error(StatusCode::kDeadlineExceeded, "too little comes");
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return ErrnoError(errno, "poll");
    if (!go_on()) return Error(StatusCode::kCancelled, "cancelled");
  }
}

Status FileSource::Say(std::string_view words, const GoOn& go_on) const {
  while (!words.empty()) {
    AD_RETURN_IF_ERROR(Await(POLLOUT, Deadline::After(kPatience), go_on));
    const ssize_t taken = send(socket_.get(), words.data(), words.size(), MSG_NOSIGNAL);
    if (taken < 0 && IsForLater(errno)) continue;
    if (taken < 0) return ErrnoError(errno, "send");
    words.remove_prefix(static_cast<size_t>(taken));
  }
  return OkStatus();
}

Result<std::string> FileSource::Hear(size_t size, const GoOn& go_on) const {
  std::string heard;
  const Deadline deadline = Deadline::After(kPatience);
  while (heard.size() < size) {
    AD_RETURN_IF_ERROR(Await(POLLIN, deadline, go_on));
    char buffer[kWordSize];
    const ssize_t got =
        recv(socket_.get(), buffer, std::min(sizeof buffer, size - heard.size()), 0);
    if (got < 0 && IsForLater(errno)) continue;
    if (got < 0) return ErrnoError(errno, "recv");
    if (got == 0) return NotKept();
    heard.append(buffer, static_cast<size_t>(got));
  }
  return heard;
}

}  // namespace autodist::agent
