#include "agent/stacks/tcp_traffic.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "agent/prepare/netlink.h"
#include "base/fd.h"

namespace autodist::agent {
namespace {

// Where the kernel's tcp_info, which only grows, has these; the C library's header ends before, and
// the kernel's cannot be read beside it.
constexpr size_t kRetransmits = 2;  // of one byte
constexpr size_t kTotalRetransmits = 100;
constexpr size_t kBytesAcked = 120;
constexpr size_t kBytesReceived = 128;
constexpr size_t kDataSegmentsOut = 156;

template <typename Number>
Number NumberAt(std::string_view info, size_t at) {
  return info.size() < at ? Number{0} : NetlinkValue<Number>(info.substr(at)).value_or(Number{0});
}

// As text; "": of this machine.
std::string PeerOf(const inet_diag_msg& socket) {
  in6_addr address{};
  static_assert(sizeof address == sizeof socket.id.idiag_dst);
  std::memcpy(&address, &socket.id.idiag_dst, sizeof address);
  const bool is_mapped = socket.idiag_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address);
  in_addr v4{};
  std::memcpy(&v4, address.s6_addr + (is_mapped ? sizeof address - sizeof v4 : 0), sizeof v4);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (socket.idiag_family == AF_INET || is_mapped) {
    constexpr uint32_t kOwnNetwork = 127;
    const bool own = (ntohl(v4.s_addr) >> 24) == kOwnNetwork || v4.s_addr == 0;
    return own || !inet_ntop(AF_INET, &v4, text.data(), text.size()) ? "" : text.data();
  }
  const bool own = IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_UNSPECIFIED(&address);
  return own || !inet_ntop(AF_INET6, &address, text.data(), text.size()) ? "" : text.data();
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
    // One for each: what is left of an answer that was cut off belongs to no other one.
    const base::UniqueFd diag(
        socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
    if (diag.valid()) ReadFamily(diag.get(), family, buffer, traffic);
  }
  return traffic;
}

}  // namespace autodist::agent
