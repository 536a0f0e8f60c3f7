#include "agent/sync/file_source.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <vector>

#include "agent/sync/file_port.h"
#include "base/ip_address.h"
#include "base/socket_address.h"
#include "base/tcp_connect.h"

namespace autodist::agent {
namespace {

using base::Deadline;
using secure::Progress;

constexpr std::chrono::milliseconds kAskInterval{100};  // between calls of `go_on`
constexpr char kClientName[] = "node";  // not an identity: all nodes have the same key

Status NotKept() {
  return Error(StatusCode::kUnavailable, "something else is there, or it hung up");
}

}  // namespace

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
