// How much has gone through the TCP sockets of this network, by sock_diag(7). What send(2) and
// recv(2) carry is in no file of /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace autodist::agent {

struct SocketTraffic {
  uint64_t bytes = 0;       // received, and sent and acknowledged
  std::string peer;         // its address; "": on this machine, or none
  uint32_t sent = 0;        // segments with data
  uint32_t sent_again = 0;  // of them, as they were not acknowledged in time
  uint32_t unanswered = 0;  // how often the oldest that is not acknowledged was sent again

  bool operator==(const SocketTraffic&) const = default;
};

// By the inode of the socket.
using TcpTraffic = std::unordered_map<uint64_t, SocketTraffic>;

// Adds what a part of the kernel's answer tells; true: it is the last.
bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic);

// Of all sockets; empty where the kernel does not tell. Does not block.
TcpTraffic ReadTcpTraffic();

}  // namespace autodist::agent
