// Numeric IP addresses: parsing, comparing, and which of them this machine has.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::base {

struct IpAddress {
  bool v6 = false;
  std::array<unsigned char, 16> bytes{};  // the first 4 for IPv4
  std::string scope;                      // "eth0" of "fe80::1%eth0"

  // nullopt for anything that is not a numeric address; never asks a name server.
  static std::optional<IpAddress> Parse(const std::string& text);

  bool IsLoopback() const;
  std::string ToString() const;

  auto operator<=>(const IpAddress&) const = default;
};

struct Interface {
  std::string name;
  IpAddress address;
};

// Every address of every interface that is up.
Result<std::vector<Interface>> LocalInterfaces();

// The interface that has the address, whatever its scope; null if none does.
const Interface* OwnerOf(const IpAddress& address, const std::vector<Interface>& interfaces);

// "10.0.0.1 (eth0), ..." without the loopback addresses.
std::string Describe(const std::vector<Interface>& interfaces);

}  // namespace autodist::base
