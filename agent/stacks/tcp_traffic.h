// The traffic of the TCP sockets in this network namespace, from sock_diag(7). No file of /proc has
// the data of send(2) and recv(2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace autodist::agent {

struct SocketTraffic {
  uint64_t bytes = 0;       // received, plus sent and acknowledged
  std::string peer;         // address; "": on this machine, or none
  uint32_t sent = 0;        // segments with data
  uint32_t sent_again = 0;  // retransmitted ones
  uint32_t unanswered = 0;  // how often the oldest unacknowledged one was retransmitted

  bool operator==(const SocketTraffic&) const = default;
};

// By inode of the socket.
using TcpTraffic = std::unordered_map<uint64_t, SocketTraffic>;

// Adds a part of the kernel's answer; returns whether it is the last part.
bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic);

// Reads all sockets; empty if the kernel does not support it. Does not block.
TcpTraffic ReadTcpTraffic();

}  // namespace autodist::agent
