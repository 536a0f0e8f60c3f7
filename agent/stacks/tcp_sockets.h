// The TCP sockets of processes: their peers, whether these still answer, and, from sock_diag(7),
// the traffic in this network namespace. No file of /proc has the data of send(2) and recv(2).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/fd.h"

namespace autodist::agent {

struct TcpPeer {
  std::string address;  // "10.0.0.7:5000", "[fd77::7]:5000"
  // How often the oldest unacknowledged data were retransmitted.
  uint32_t sent_again = 0;
  // The other end is on this machine, where no program has accepted the connection yet.
  bool unaccepted = false;
};

// `table`: the text of a /proc/net/tcp or tcp6, see proc_net_tcp.rst of the kernel. nullopt: the
// socket with this inode is not in it, or has no peer.
std::optional<TcpPeer> PeerIn(std::string_view table, std::string_view inode);

// Returns the inode of the socket at `local` that is connected with `remote`, both as
// "10.0.0.7:5000". IPv4-mapped IPv6 addresses are IPv4 addresses.
std::optional<uint64_t> InodeIn(std::string_view table, std::string_view local,
                                std::string_view remote);

// Local ports.
struct PortUses {
  std::unordered_multimap<uint64_t, uint16_t> listeners;  // by inode; several may be unknown: 0
  std::set<uint16_t> closing;                             // in TIME_WAIT
};
// Adds those of a table.
void AddPortUses(std::string_view table, PortUses& uses);

// Returns the inodes of the sockets in a folder of descriptors, such as /proc/self/fd.
std::unordered_set<uint64_t> SocketsOf(const std::string& descriptors);

// Returns "12345" of "socket:[12345]", the target of a descriptor in /proc; "": not a socket.
std::string_view SocketInode(std::string_view link);

// The tables of TCP sockets of a process, which are read once, when they are needed. Not
// thread-safe; does not block.
class SocketTables {
 public:
  // Describes "socket:[12345]", an open descriptor of the thread in this folder of /proc: "socket
  // to 10.0.0.7:5000, sent again 4 times", or ", not accepted". Returns it unchanged if it is no
  // TCP socket.
  std::string Describe(const std::string& folder, const std::string& socket);

 private:
  std::optional<std::string> tcp_;
  std::optional<std::string> tcp6_;
};

struct SocketTraffic {
  uint64_t bytes = 0;  // received, plus sent and acknowledged
  std::string peer;    // address; "": on this machine, or none
  // "10.0.0.7:5000", to which it is connecting: its SYN has not been answered; "": none.
  std::string connecting_to;
  std::string local;        // its own end, as above; "": it is not connected
  uint32_t sent = 0;        // segments with data
  uint32_t sent_again = 0;  // retransmitted ones
  uint32_t unanswered = 0;  // how often the oldest unacknowledged one was retransmitted

  bool operator==(const SocketTraffic&) const = default;
};

// Failed connection attempts of this network namespace, by destination: "10.0.0.7:5000".
struct FailedAttempts {
  uint32_t refused = 0;  // by a reset, because no program listens there
  uint32_t failed = 0;   // given up by the program, or rejected by the network

  bool operator==(const FailedAttempts&) const = default;
};
using FailedConnections = std::map<std::string, FailedAttempts>;

// Adds what the kernel reports of closed sockets.
void AddClosedSockets(std::string_view messages, FailedConnections& failed);

// Watches for failed connection attempts, which no table of sockets shows: the kernel reports each
// socket when it is closed. Blocking connect(2) calls are missing, because the kernel forgets their
// port. Not thread-safe; does not block.
class ConnectionWatch {
 public:
  // Begins, unless it watches. From then on the kernel needs some time for each socket. Without
  // support by the kernel, nothing is seen.
  void Begin();
  // Returns what was seen since the call before, or since Begin; empty if it does not watch.
  FailedConnections Drain();

 private:
  base::UniqueFd socket_;
};

// By inode of the socket.
using TcpTraffic = std::unordered_map<uint64_t, SocketTraffic>;

// Adds a part of the kernel's answer; returns whether it is the last part.
bool AddTcpTraffic(std::string_view messages, TcpTraffic& traffic);

// Reads all sockets; empty if the kernel does not support it. Does not block.
TcpTraffic ReadTcpTraffic();

}  // namespace autodist::agent
