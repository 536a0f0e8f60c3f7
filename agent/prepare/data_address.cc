#include "agent/prepare/data_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>

#include "base/fd.h"
#include "base/socket_address.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

using base::Interface;
using base::IpAddress;

constexpr uint16_t kDiscardPort = 9;

bool IsOutward(const IpAddress& address) {
  return !address.IsLoopback() && !address.IsLinkLocal() && !address.IsUnspecified();
}

// Returns the address if this node has it and others may reach it; otherwise nullopt.
std::optional<std::string> IfOurs(const std::string& text,
                                  const std::vector<Interface>& interfaces) {
  const auto address = IpAddress::Parse(text);
  if (!address || !IsOutward(*address) || !base::OwnerOf(*address, interfaces)) return std::nullopt;
  return address->ToString();
}

std::string ServerOf(const std::string& ssh_connection) {
  const auto words = base::Split(ssh_connection, ' ');
  return words.size() == 4 ? std::string(words[2]) : "";
}

std::string TextOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool v6 = address.ss_family == AF_INET6;
  const void* bytes =
      v6 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
         : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  return inet_ntop(address.ss_family, bytes, text, sizeof text) ? text : "";
}

const IpAddress* FirstOutward(const std::vector<Interface>& interfaces, const std::string& name) {
  const IpAddress* best = nullptr;
  for (const Interface& interface : interfaces) {
    if (!name.empty() && interface.name != name) continue;
    const IpAddress& address = interface.address;
    if (IsOutward(address) && (!best || (best->v6 && !address.v6))) best = &address;
  }
  return best;
}

}  // namespace

std::string ChooseDataAddress(const AddressHints& hints, const std::vector<Interface>& interfaces) {
  if (!hints.interface.empty()) {
    if (const IpAddress* own = FirstOutward(interfaces, hints.interface)) return own->ToString();
  }
  std::vector<std::string> wanted = {hints.expected, ServerOf(hints.ssh_connection)};
  wanted.insert(wanted.end(), hints.outgoing.begin(), hints.outgoing.end());
  for (const std::string& address : wanted) {
    if (const auto ours = IfOurs(address, interfaces)) return *ours;
  }
  const IpAddress* any = FirstOutward(interfaces, "");
  return any ? any->ToString() : "127.0.0.1";
}

std::string DataAddressOf(const v1::NodePlan& node, const std::string& ssh_connection) {
  const auto interfaces = base::LocalInterfaces();
  if (!node.ask_data_address() || !interfaces.ok()) return node.data_address();
  return ChooseDataAddress(
      {node.interface(), node.data_address(), ssh_connection, OutgoingAddresses()}, *interfaces);
}

std::vector<std::string> OutgoingAddresses() {
  std::vector<std::string> addresses;
  for (const char* elsewhere : kElsewhere) {
    const base::SocketAddress target(*IpAddress::Parse(elsewhere), kDiscardPort);
    const base::UniqueFd fd(socket(target.get()->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    // Connecting a UDP socket only selects a route.
    if (!fd.valid() || connect(fd.get(), target.get(), target.length()) != 0) continue;
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) continue;
    addresses.push_back(TextOf(own));
  }
  return addresses;
}

}  // namespace autodist::agent
