#include "agent/stacks/nccl_ras.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "agent/stacks/tcp_peer.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "base/listen_address.h"
#include "base/parse_number.h"
#include "base/socket_address.h"
#include "base/utf8.h"

namespace autodist::agent {
namespace {

using base::Deadline;

constexpr size_t kMaxSummaryLength = 1 << 20;    // bytes
constexpr size_t kMaxJsonLength = 16 << 20;      // some 300 per rank of each communicator
constexpr size_t kLargestSocketTable = 8 << 20;  // of sockets; a line has 150
constexpr size_t kMaxLineLength = 1 << 10;       // of the lines before the answer

// Parses "127.0.0.1:28028", "[::1]:28028", or "localhost:28028", which has two addresses.
std::vector<base::ListenAddress> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = base::ParseNumber<uint16_t>(std::string_view(text).substr(colon + 1));
  if (port.value_or(0) == 0) return {};
  std::vector<base::ListenAddress> addresses;
  for (const std::string& name :
       host == "localhost" ? std::vector<std::string>{"127.0.0.1", "::1"} : std::vector{host}) {
    const auto address = base::IpAddress::Parse(name);
    if (address) addresses.push_back({*address, *port});
  }
  return addresses;
}

class RasConnection {
 public:
  explicit RasConnection(Deadline deadline) : deadline_(deadline) {}

  // Sends `ask`, and returns whether the response line begins with `expected`.
  bool Ask(std::string_view ask, std::string_view expected) {
    if (!base::WriteAll(fd_.get(), ask, deadline_).ok()) return false;
    size_t end = 0;
    while ((end = received_.find('\n')) == std::string::npos) {
      if (received_.size() > kMaxLineLength || !Receive()) return false;
    }
    const bool as_expected = received_.starts_with(expected);
    received_.erase(0, end + 1);
    return as_expected;
  }

  std::string AskForAll(std::string_view ask, size_t most) {
    if (!base::WriteAll(fd_.get(), ask, deadline_).ok()) return "";
    while (received_.size() < most && Receive()) continue;
    received_.resize(std::min(received_.size(), most));
    return std::move(received_);
  }

  // The first write waits for the connection. Fails unless `to` is an address of this machine.
  bool Begin(const base::ListenAddress& to) {
    const base::SocketAddress own(to.ip, 0);
    const base::SocketAddress peer(to.ip, to.port);
    fd_.Reset(socket(own.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in6 bound{};  // the port is at the same offset as in a sockaddr_in
    socklen_t length = sizeof bound;
    if (!fd_.valid() || bind(fd_.get(), own.get(), own.length()) != 0) return false;
    if (connect(fd_.get(), peer.get(), peer.length()) != 0 && errno != EINPROGRESS) return false;
    if (getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) return false;
    peer_ = to.ToString();
    own_ = base::ListenAddress{to.ip, ntohs(bound.sin6_port)}.ToString();
    return true;
  }

  // Whether one of these processes has accepted the connection; another user's may listen there.
  bool IsWith(const std::vector<pid_t>& processes) const {
    for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
      const auto socket =
          InodeIn(base::ReadFile(table, kLargestSocketTable).value_or(""), peer_, own_);
      if (!socket) continue;
      return std::ranges::any_of(processes, [&](pid_t pid) {
        return SocketsOf("/proc/" + std::to_string(pid) + "/fd").contains(*socket);
      });
    }
    return false;
  }

 private:
  // Returns false at the end, and at the deadline.
  bool Receive() {
    std::array<char, 65536> buffer;
    const auto got = base::ReadSome(fd_.get(), buffer.data(), buffer.size(), deadline_);
    if (!got.ok() || *got == 0) return false;
    received_.append(buffer.data(), *got);
    return true;
  }

  Deadline deadline_;
  base::UniqueFd fd_;
  std::string own_;  // "127.0.0.1:51714", of this end
  std::string peer_;
  std::string received_;
};

NcclView AskAt(const base::ListenAddress& to, const std::vector<pid_t>& processes,
               Deadline deadline) {
  RasConnection connection(deadline);
  if (!connection.Begin(to)) return {};
  if (!connection.Ask("CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ")) return {};
  if (!connection.IsWith(processes)) return {};
  // Sets how many seconds NCCL waits for unresponsive processes.
  if (!connection.Ask("TIMEOUT 3\n", "OK")) return {};
  if (connection.Ask("SET FORMAT json\n", "OK")) {
    return ReadNcclJson(connection.AskForAll("STATUS\n", kMaxJsonLength)).value_or(NcclView());
  }
  const std::string summary =
      base::PrintableLines(connection.AskForAll("STATUS\n", kMaxSummaryLength));
  return {.summary = summary.empty() || summary.ends_with('\n') ? summary : summary + "\n",
          .processes = {}};
}

}  // namespace

NcclView AskNccl(const std::string& address, const std::vector<pid_t>& processes,
                 Deadline deadline) {
  for (const base::ListenAddress& to : ParseAddress(address)) {
    NcclView view = AskAt(to, processes, deadline);
    if (!view.summary.empty()) return view;
  }
  return {};
}

}  // namespace autodist::agent
