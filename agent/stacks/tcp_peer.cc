#include "agent/stacks/tcp_peer.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/fd.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestTable = 8 << 20;  // bytes; a line is 150 of them
constexpr size_t kWordDigits = 8;
constexpr std::string_view kSocket = "socket:[";

uint32_t Hexadecimal(std::string_view digits) {
  uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return number;
}

// "0400A8C0:1388": the words of the address as they are in memory, then the port.
std::string AddressText(std::string_view hexadecimal) {
  const size_t colon = hexadecimal.find(':');
  if (colon != kWordDigits && colon != 4 * kWordDigits) return "";
  const uint32_t port = Hexadecimal(hexadecimal.substr(colon + 1));
  if (port == 0) return "";  // of one that listens
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < colon / kWordDigits; ++i) {
    words[i] = Hexadecimal(hexadecimal.substr(i * kWordDigits, kWordDigits));
  }
  const bool is_v4 = colon == kWordDigits;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, words.data(), text.data(), text.size())) return "";
  const std::string address = text.data();
  return (is_v4 ? address : "[" + address + "]") + ":" + std::to_string(port);
}

}  // namespace

std::optional<TcpPeer> PeerIn(std::string_view table, std::string_view inode) {
  // Place in line: slot, local, remote, state, queues, timer, sent again, user, probes, inode.
  constexpr size_t kRemote = 2;
  constexpr size_t kSentAgain = 6;
  constexpr size_t kInode = 9;
  for (const std::string_view line : base::Lines(table)) {
    std::vector<std::string_view> words;
    for (const std::string_view word : base::Split(line, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words.size() <= kInode || words[kInode] != inode) continue;
    TcpPeer peer{AddressText(words[kRemote]), Hexadecimal(words[kSentAgain])};
    return peer.address.empty() ? std::nullopt : std::optional(peer);
  }
  return std::nullopt;
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
