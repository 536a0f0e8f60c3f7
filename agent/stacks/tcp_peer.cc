#include "agent/stacks/tcp_peer.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/fd.h"
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
  for (std::string_view& field : fields) {
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    field = line.substr(0, line.find(' '));
    line.remove_prefix(field.size());
  }
  return fields;
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
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(descriptors.c_str()), closedir);
  while (const dirent* file = folder ? readdir(folder.get()) : nullptr) {
    std::array<char, 64> target;
    const ssize_t length =
        readlinkat(dirfd(folder.get()), file->d_name, target.data(), target.size());
    const std::string_view link(target.data(), length > 0 ? static_cast<size_t>(length) : 0);
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

}  // namespace autodist::agent
