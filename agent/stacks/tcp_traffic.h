// How much has gone through the TCP sockets of this network, by sock_diag(7). What send(2) and
// recv(2) carry is in no file of /proc.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace autodist::agent {

// Bytes received, and sent and acknowledged, by the inode of the socket.
using TcpTraffic = std::unordered_map<uint64_t, uint64_t>;

// Adds what a part of the kernel's answer tells; true: it is the last.
bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic);

// Of all sockets; empty where the kernel does not tell. Does not block.
TcpTraffic ReadTcpTraffic();

}  // namespace autodist::agent
