// Numeric IP addresses: parsing, comparing, and which of them this machine has.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::base {

struct IpAddress {
  bool v6 = false;
  std::array<unsigned char, 16> bytes{};  // the first 4 for IPv4
  std::string scope;                      // "eth0" of "fe80::1%eth0"

  // nullopt for anything that is not a numeric address; never asks a name server. An IPv4 address
  // in IPv6 clothes, "::ffff:10.0.0.1", is the IPv4 address.
  static std::optional<IpAddress> Parse(const std::string& text);

  bool IsLoopback() const;
  bool IsUnspecified() const;  // 0.0.0.0 and ::
  bool IsMulticast() const;
  bool IsBroadcast() const;  // 255.255.255.255
  bool IsLinkLocal() const;  // IPv6 ones, which need a scope
  std::string ToString() const;

  auto operator<=>(const IpAddress&) const = default;
};

struct Interface {
  std::string name;
  IpAddress address;
};

// Every address of every interface that is up.
Result<std::vector<Interface>> LocalInterfaces();

// Whether Linux takes `name` for a network interface.
bool IsInterfaceName(std::string_view name);

// The interface that has the address; of several, the one that the address names as its scope.
// Null if none has it.
const Interface* OwnerOf(const IpAddress& address, const std::vector<Interface>& interfaces);

// "10.0.0.1 (eth0), ..." without the loopback addresses.
std::string Describe(const std::vector<Interface>& interfaces);

}  // namespace autodist::base
