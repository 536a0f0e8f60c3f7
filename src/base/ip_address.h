// Numeric IP addresses: parsing, comparing, and the addresses of this machine.
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

  // Returns nullopt for anything that is not a numeric address; never asks a name server. An
  // IPv4-mapped IPv6 address, "::ffff:10.0.0.1", becomes the IPv4 address.
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

// Returns every address of every interface that is up.
Result<std::vector<Interface>> LocalInterfaces();

// Whether Linux accepts `name` as the name of a network interface.
bool IsInterfaceName(std::string_view name);

// Returns the interface that has the address, or null. Where several have it, the one that the
// scope of the address names.
const Interface* OwnerOf(const IpAddress& address, const std::vector<Interface>& interfaces);

// Formats the addresses as "10.0.0.1 (eth0), ..." without loopback addresses.
std::string Describe(const std::vector<Interface>& interfaces);

}  // namespace autodist::base
