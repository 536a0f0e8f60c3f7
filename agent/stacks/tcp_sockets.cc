#include "agent/stacks/tcp_sockets.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "agent/prepare/netlink.h"
#include "agent/sample/kernel_file.h"
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
constexpr size_t kState = 3;
constexpr size_t kSentAgain = 6;
constexpr size_t kInode = 9;

using SocketFields = std::array<std::string_view, kInode + 1>;

// Returns empty fields for missing ones.
SocketFields FieldsOf(std::string_view line) {
  SocketFields fields;
  for (std::string_view& field : fields) field = TakeWord(line);
  return fields;
}

// An established socket without an inode belongs to no process yet.
bool IsUnaccepted(std::string_view table, std::string_view local, std::string_view remote) {
  return std::ranges::any_of(base::Lines(table), [&](std::string_view line) {
    const SocketFields fields = FieldsOf(line);
    return fields[kLocal] == local && fields[kRemote] == remote && fields[kState] == "01" &&
           fields[kInode] == "0";
  });
}

// Offsets in the kernel's tcp_info, which only grows. The C library's header lacks the last one,
// and conflicts with the kernel's header.
constexpr size_t kRetransmits = 2;  // one byte
constexpr size_t kRoundTrip = 68;
constexpr size_t kTotalRetransmits = 100;
constexpr size_t kBytesAcked = 120;
constexpr size_t kBytesReceived = 128;
constexpr size_t kSegmentsIn = 140;
constexpr size_t kDataSegmentsOut = 156;

// States of a socket, by tcp_states.h of the kernel.
constexpr uint8_t kSynSent = 2;
constexpr uint8_t kClosed = 7;

template <typename Number>
Number NumberAt(std::string_view info, size_t at) {
  return info.size() < at ? Number{0} : NetlinkValue<Number>(info.substr(at)).value_or(Number{0});
}

// `bytes`: of one end. nullopt: any address.
std::optional<base::IpAddress> AddressIn(const inet_diag_msg& socket, const void* bytes) {
  base::IpAddress address;
  address.v6 = socket.idiag_family == AF_INET6;
  std::memcpy(address.bytes.data(), bytes, address.v6 ? 16 : 4);
  // Converts an IPv4-mapped IPv6 address.
  auto converted = base::IpAddress::Parse(address.ToString());
  return converted && converted->IsUnspecified() ? std::nullopt : converted;
}

// Formats the peer; "" on this machine.
std::string PeerOf(const inet_diag_msg& socket) {
  const auto peer = AddressIn(socket, &socket.id.idiag_dst);
  return !peer || peer->IsLoopback() ? "" : peer->ToString();
}

std::string EndpointIn(const inet_diag_msg& socket, const void* bytes, uint16_t port) {
  const auto ip = AddressIn(socket, bytes);
  if (!ip || port == 0) return "";
  base::ListenAddress address;
  address.ip = *ip;
  address.port = ntohs(port);
  return address.ToString();
}

std::string EndpointOf(const inet_diag_msg& socket) {
  return EndpointIn(socket, &socket.id.idiag_dst, socket.id.idiag_dport);
}

void AddSocket(std::string_view message, TcpTraffic& traffic) {
  const auto socket = NetlinkValue<inet_diag_msg>(message);
  if (!socket || socket->idiag_inode == 0) return;
  const std::string_view info =
      NetlinkAttribute(message.substr(NetlinkAligned(sizeof *socket)), INET_DIAG_INFO);
  SocketTraffic& of = traffic[socket->idiag_inode];
  of.bytes = NumberAt<uint64_t>(info, kBytesAcked) + NumberAt<uint64_t>(info, kBytesReceived);
  of.peer = PeerOf(*socket);
  if (socket->idiag_state == kSynSent) {
    of.connecting_to = EndpointOf(*socket);
  } else if (socket->id.idiag_dport != 0) {
    of.local = EndpointIn(*socket, &socket->id.idiag_src, socket->id.idiag_sport);
  }
  of.sent = NumberAt<uint32_t>(info, kDataSegmentsOut);
  of.sent_again = NumberAt<uint32_t>(info, kTotalRetransmits);
  of.unanswered = NumberAt<uint8_t>(info, kRetransmits);
}

// Adds a closed socket if its connection was never established.
void AddClosed(std::string_view message, FailedConnections& failed) {
  const auto socket = NetlinkValue<inet_diag_msg>(message);
  if (!socket || socket->idiag_state != kClosed) return;
  const std::string_view info =
      NetlinkAttribute(message.substr(NetlinkAligned(sizeof *socket)), INET_DIAG_INFO);
  const bool was_connected = NumberAt<uint32_t>(info, kRoundTrip) > 0 ||
                             NumberAt<uint64_t>(info, kBytesAcked) > 0 ||
                             NumberAt<uint64_t>(info, kBytesReceived) > 0;
  const std::string to = EndpointOf(*socket);
  const bool is_known = info.size() >= kSegmentsIn + sizeof(uint32_t) && !to.empty();
  if (was_connected || !is_known) return;
  FailedAttempts& attempts = failed[to];
  ++(NumberAt<uint32_t>(info, kSegmentsIn) > 0 ? attempts.refused : attempts.failed);
}

base::UniqueFd OpenDiag() {
  return base::UniqueFd(
      socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
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
    TcpPeer peer{AddressText(fields[kRemote]), Hexadecimal(fields[kSentAgain]),
                 IsUnaccepted(table, fields[kRemote], fields[kLocal])};
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

void AddPortUses(std::string_view table, PortUses& uses) {
  constexpr std::string_view kListening = "0A";
  constexpr std::string_view kTimeWait = "06";
  for (const std::string_view line : base::Lines(table)) {
    const SocketFields fields = FieldsOf(line);
    const bool listening = fields[kState] == kListening;
    if (!listening && fields[kState] != kTimeWait) continue;
    const std::string_view local = fields[kLocal];
    const auto port = base::ParseNumber<uint16_t>(local.substr(local.rfind(':') + 1), 16);
    if (!port) continue;
    if (!listening) {
      uses.closing.insert(*port);
      continue;
    }
    uses.listeners.emplace(base::ParseNumber<uint64_t>(fields[kInode]).value_or(0), *port);
  }
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

std::string SocketTables::Describe(const std::string& folder, const std::string& socket) {
  const std::string_view inode = SocketInode(socket);
  if (inode.empty()) return socket;
  for (const auto& [table, path] : {std::pair(&tcp_, "/net/tcp"), {&tcp6_, "/net/tcp6"}}) {
    if (!*table) *table = base::ReadFile(folder + path, kLargestTable).value_or("");
    const auto peer = PeerIn(**table, inode);
    if (!peer) continue;
    std::string text = "socket to " + peer->address;
    if (peer->unaccepted) text += ", not accepted";
    if (peer->sent_again > 0) text += ", sent again " + std::to_string(peer->sent_again) + " times";
    return text;
  }
  return socket;
}

bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic) {
  return ReadNetlinkPart(messages, [&](uint16_t type, std::string_view message) {
    if (type == SOCK_DIAG_BY_FAMILY) AddSocket(message, traffic);
  });
}

void AddClosedSockets(std::string_view messages, FailedConnections& failed) {
  ReadNetlinkPart(messages, [&](uint16_t type, std::string_view message) {
    if (type == SOCK_DIAG_BY_FAMILY) AddClosed(message, failed);
  });
}

void ConnectionWatch::Begin() {
  if (socket_.valid()) return;
  base::UniqueFd diag = OpenDiag();
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups =
      (1U << (SKNLGRP_INET_TCP_DESTROY - 1)) | (1U << (SKNLGRP_INET6_TCP_DESTROY - 1));
  const auto* const address = reinterpret_cast<const sockaddr*>(&groups);
  if (diag.valid() && bind(diag.get(), address, sizeof groups) == 0) socket_ = std::move(diag);
}

FailedConnections ConnectionWatch::Drain() {
  constexpr int kMaxReports = 10'000;
  FailedConnections failed;
  std::vector<char> buffer(kLargestNetlinkPart);
  for (int i = 0; socket_.valid() && i < kMaxReports; ++i) {
    const ssize_t got = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == ENOBUFS) continue;  // some reports were dropped
    if (got <= 0) break;
    AddClosedSockets(std::string_view(buffer.data(), static_cast<size_t>(got)), failed);
  }
  return failed;
}

TcpTraffic ReadTcpTraffic() {
  TcpTraffic traffic;
  std::vector<char> buffer(kLargestNetlinkPart);
  for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
    // A socket for each request: the rest of a truncated answer must not mix with the next one.
    const base::UniqueFd diag = OpenDiag();
    if (diag.valid()) ReadFamily(diag.get(), family, buffer, traffic);
  }
  return traffic;
}

}  // namespace autodist::agent
