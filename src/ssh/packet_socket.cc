#include "ssh/packet_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace autodist::ssh {
namespace {

// No data packet is written while another is buffered. So anything beyond this limit is responses
// that a server requests and does not read.
constexpr size_t kMaxUnsent = 1 << 20;

}  // namespace

ssize_t PacketSocket::Note(ssize_t moved) {
  if (moved > 0) moved_ += static_cast<uint64_t>(moved);
  if (moved >= 0) return moved;
  const int error = errno;
  if (error != EAGAIN && error != EINTR && lost_ == 0) lost_ = error;
  return error == EINTR ? -EAGAIN : -error;
}

// Requests immediate acknowledgements: otherwise small writes of sshd wait 40 ms for a delayed one.
ssize_t PacketSocket::Receive(void* to, size_t size) {
  if (hung_up_) return -ECONNRESET;
  if (!received_.empty()) {
    const size_t count = received_.copy(static_cast<char*>(to), size);
    received_.erase(0, count);
    return static_cast<ssize_t>(count);
  }
  const ssize_t got = Note(recv(fd_, to, size, MSG_DONTWAIT));
  if (got == 0 && lost_ == 0) lost_ = -1;
  const int one = 1;
  if (got > 0) setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
  return got;
}

ssize_t PacketSocket::Send(std::string_view packet) {
  Flush();
  if (hung_up_ || lost_ > 0) return hung_up_ ? -EPIPE : -lost_;
  std::string_view left = packet;
  if (!has_unsent()) {
    const ssize_t put = Note(send(fd_, left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    if (put < 0 && put != -EAGAIN) return put;
    left.remove_prefix(static_cast<size_t>(std::max<ssize_t>(put, 0)));
  }
  if (unsent_.size() - sent_ + left.size() > kMaxUnsent) return -ENOBUFS;
  unsent_ += left;
  return static_cast<ssize_t>(packet.size());
}

void PacketSocket::Flush() {
  if (!has_unsent() || hung_up_) return;
  const ssize_t put =
      Note(send(fd_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (put > 0) sent_ += static_cast<size_t>(put);
  if (!has_unsent() || lost_ > 0) {
    unsent_.clear();
    sent_ = 0;
  }
}

void PacketSocket::HangUp() {
  shutdown(fd_, SHUT_RDWR);
  hung_up_ = true;
}

}  // namespace autodist::ssh
