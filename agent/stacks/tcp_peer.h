// Whom a process talks to by TCP, and whether that peer still answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace autodist::agent {

struct TcpPeer {
  std::string address;  // "10.0.0.7:5000", "[fd77::7]:5000"
  // How often the oldest of what has been sent was sent again, as it was not acknowledged.
  uint32_t sent_again = 0;
};

// `table`: the text of a /proc/net/tcp or tcp6, see proc_net_tcp.rst of the kernel. nullopt: the
// socket of this inode is not in it, or has no peer.
std::optional<TcpPeer> PeerIn(std::string_view table, std::string_view inode);

// "12345" of "socket:[12345]", to which a descriptor in /proc links; "": it is no socket.
std::string_view SocketInode(std::string_view link);

// Of "socket:[12345]", which the thread in this folder of /proc has open: "socket to 10.0.0.7:5000,
// sent again 4 times". The same as before where it is no TCP socket.
std::string SocketText(const std::string& folder, const std::string& socket);

}  // namespace autodist::agent
