#include "agent/stacks/tcp_sockets.h"

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <vector>

#include "agent/prepare/netlink.h"
#include "agent/sample/kernel_file.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/ip_address.h"
#include "base/listen_address.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestTable = 8 << 20;  // bytes; a line is 150 of them
constexpr size_t kWordDigits = 8;
constexpr std::string_view kSocket = "socket:[";

uint32_t Hexadecimal(std::string_view digits) {
  return base::ParseNumber<uint32_t>(digits, 16).value_or(0);
}

// Parses "0400A8C0:1388": the 32-bit words of the address in memory order, then the port.
std::string AddressText(std::string_view hexadecimal) {
  const size_t colon = hexadecimal.find(':');
  if (colon != kWordDigits && colon != 4 * kWordDigits) return "";
  base::ListenAddress address;
  address.port = static_cast<uint16_t>(Hexadecimal(hexadecimal.substr(colon + 1)));
  if (address.port == 0) return "";  // a listening socket
  address.ip.v6 = colon != kWordDigits;
  for (size_t i = 0; i < colon / kWordDigits; ++i) {
    const uint32_t word = Hexadecimal(hexadecimal.substr(i * kWordDigits, kWordDigits));
    std::memcpy(address.ip.bytes.data() + i * sizeof word, &word, sizeof word);
  }
  address.ip = base::IpAddress::Parse(address.ip.ToString()).value_or(address.ip);
  return address.ToString();
}

// The positions of fields in a line: slot, local, remote, state, queues, timer, retransmits, user,
// probes, inode.
constexpr size_t kLocal = 1;
constexpr size_t kRemote = 2;
constexpr size_t kSentAgain = 6;
constexpr size_t kInode = 9;

using SocketFields = std::array<std::string_view, kInode + 1>;

// Returns empty fields for missing ones.
SocketFields FieldsOf(std::string_view line) {
  SocketFields fields;
  for (std::string_view& field : fields) field = TakeWord(line);
  return fields;
}

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

std::optional<TcpPeer> PeerIn(std::string_view table, std::string_view inode) {
  for (const std::string_view line : base::Lines(table)) {
    const SocketFields fields = FieldsOf(line);
    if (fields[kInode] != inode) continue;
    TcpPeer peer{AddressText(fields[kRemote]), Hexadecimal(fields[kSentAgain])};
    return peer.address.empty() ? std::nullopt : std::optional(peer);
  }
  return std::nullopt;
}

std::optional<uint64_t> InodeIn(std::string_view table, std::string_view local,
                                std::string_view remote) {
  for (const std::string_view line : base::Lines(table)) {
    const SocketFields fields = FieldsOf(line);
    if (AddressText(fields[kRemote]) != remote || AddressText(fields[kLocal]) != local) continue;
    return base::ParseNumber<uint64_t>(fields[kInode]);
  }
  return std::nullopt;
}

std::unordered_set<uint64_t> SocketsOf(const std::string& descriptors) {
  std::unordered_set<uint64_t> inodes;
  for (const std::string& file : base::EntriesOf(descriptors)) {
    const std::string link = base::LinkTarget(descriptors + "/" + file);
    if (const auto inode = base::ParseNumber<uint64_t>(SocketInode(link))) inodes.insert(*inode);
  }
  return inodes;
}

std::string_view SocketInode(std::string_view link) {
  if (!link.starts_with(kSocket) || !link.ends_with(']')) return "";
  return link.substr(kSocket.size(), link.size() - kSocket.size() - 1);
}

std::string SocketText(const std::string& folder, const std::string& socket) {
  const std::string_view inode = SocketInode(socket);
  if (inode.empty()) return socket;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    const auto peer = PeerIn(base::ReadFile(folder + table, kLargestTable).value_or(""), inode);
    if (!peer) continue;
    return "socket to " + peer->address +
           (peer->sent_again == 0 ? ""
                                  : ", sent again " + std::to_string(peer->sent_again) + " times");
  }
  return socket;
}

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
