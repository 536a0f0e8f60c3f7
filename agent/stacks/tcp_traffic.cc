#include "agent/stacks/tcp_traffic.h"

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "agent/prepare/netlink.h"
#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::agent {
namespace {

// Offsets in the kernel's tcp_info, which only grows. The C library's header lacks the last one,
// and conflicts with the kernel's header.
constexpr size_t kRetransmits = 2;  // one byte
constexpr size_t kTotalRetransmits = 100;
constexpr size_t kBytesAcked = 120;
constexpr size_t kBytesReceived = 128;
constexpr size_t kDataSegmentsOut = 156;

template <typename Number>
Number NumberAt(std::string_view info, size_t at) {
  return info.size() < at ? Number{0} : NetlinkValue<Number>(info.substr(at)).value_or(Number{0});
}

// Formats the peer; "" on this machine.
std::string PeerOf(const inet_diag_msg& socket) {
  base::IpAddress address;
  address.v6 = socket.idiag_family == AF_INET6;
  std::memcpy(address.bytes.data(), &socket.id.idiag_dst, address.v6 ? 16 : 4);
  // Converts an IPv4-mapped IPv6 address.
  const auto peer = base::IpAddress::Parse(address.ToString());
  return !peer || peer->IsLoopback() || peer->IsUnspecified() ? "" : peer->ToString();
}

void AddSocket(std::string_view message, TcpTraffic& traffic) {
  const auto socket = NetlinkValue<inet_diag_msg>(message);
  if (!socket || socket->idiag_inode == 0) return;
  const std::string_view info =
      NetlinkAttribute(message.substr(NetlinkAligned(sizeof *socket)), INET_DIAG_INFO);
  SocketTraffic& of = traffic[socket->idiag_inode];
  of.bytes = NumberAt<uint64_t>(info, kBytesAcked) + NumberAt<uint64_t>(info, kBytesReceived);
  of.peer = PeerOf(*socket);
  of.sent = NumberAt<uint32_t>(info, kDataSegmentsOut);
  of.sent_again = NumberAt<uint32_t>(info, kTotalRetransmits);
  of.unanswered = NumberAt<uint8_t>(info, kRetransmits);
}

void ReadFamily(int socket, uint8_t family, std::vector<char>& buffer, TcpTraffic& traffic) {
  NetlinkDump<inet_diag_req_v2> request(SOCK_DIAG_BY_FAMILY);
  request.about.sdiag_family = family;
  request.about.sdiag_protocol = IPPROTO_TCP;
  request.about.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  request.about.idiag_states = ~uint32_t{0};
  AskNetlink(socket, request, buffer,
             [&](std::string_view part) { return AddTcpTraffic(part, traffic); });
}

}  // namespace

bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic) {
  return ReadNetlinkPart(messages, [&](uint16_t type, std::string_view message) {
    if (type == SOCK_DIAG_BY_FAMILY) AddSocket(message, traffic);
  });
}

TcpTraffic ReadTcpTraffic() {
  TcpTraffic traffic;
  std::vector<char> buffer(kLargestNetlinkPart);
  for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
    // A socket for each request: the rest of a truncated answer must not mix with the next one.
    const base::UniqueFd diag(
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
    if (diag.valid()) ReadFamily(diag.get(), family, buffer, traffic);
  }
  return traffic;
}

}  // namespace autodist::agent
