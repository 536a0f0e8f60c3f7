#include "base/ip_address.h"

#include <absl/strings/str_join.h>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>

namespace autodist::base {

std::optional<IpAddress> IpAddress::Parse(const std::string& text) {
  IpAddress address;
  if (text.find('\0') != std::string::npos) return std::nullopt;  // inet_pton would ignore the rest
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  const size_t percent = text.find('%');
  if (percent != std::string::npos) {
    address.scope = text.substr(percent + 1);
    if (!IsInterfaceName(address.scope)) return std::nullopt;
  }
  address.v6 = true;
  if (inet_pton(AF_INET6, text.substr(0, percent).c_str(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  constexpr std::array<unsigned char, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) {
    IpAddress v4;
    std::copy(address.bytes.begin() + kMapped.size(), address.bytes.end(), v4.bytes.begin());
    return v4;
  }
  return address;
}

bool IpAddress::IsLoopback() const {
  if (!v6) return bytes[0] == 127;
  std::array<unsigned char, 16> one{};
  one[15] = 1;
  return bytes == one;
}

bool IpAddress::IsUnspecified() const { return bytes == decltype(bytes){}; }

bool IpAddress::IsMulticast() const { return v6 ? bytes[0] == 0xFF : bytes[0] >> 4 == 0xE; }

bool IpAddress::IsBroadcast() const {
  return !v6 && std::all_of(bytes.begin(), bytes.begin() + 4,
                            [](unsigned char byte) { return byte == 0xFF; });
}

bool IpAddress::IsLinkLocal() const { return v6 && bytes[0] == 0xFE && bytes[1] >> 6 == 2; }

std::string IpAddress::ToString() const {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof text);
  return scope.empty() ? text : std::string(text) + "%" + scope;
}

Result<std::vector<Interface>> LocalInterfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return ErrnoError(errno, "listing network interfaces");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);

  std::vector<Interface> interfaces;
  for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP)) continue;
    IpAddress address;
    if (entry->ifa_addr->sa_family == AF_INET) {
      sockaddr_in v4;
      std::memcpy(&v4, entry->ifa_addr, sizeof v4);
      std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
      sockaddr_in6 v6;
      std::memcpy(&v6, entry->ifa_addr, sizeof v6);
      std::memcpy(address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
      address.v6 = true;
    } else {
      continue;
    }
    interfaces.push_back({entry->ifa_name, address});
  }
  return interfaces;
}

bool IsInterfaceName(std::string_view name) {
  return !name.empty() && name.size() < IFNAMSIZ && name != "." && name != ".." &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) {
           return c == '/' || c == ':' || c == '%' || std::isspace(c) || std::iscntrl(c);
         });
}

const Interface* OwnerOf(const IpAddress& address, const std::vector<Interface>& interfaces) {
  const Interface* owner = nullptr;
  for (const Interface& interface : interfaces) {
    if (interface.address.v6 != address.v6 || interface.address.bytes != address.bytes) continue;
    if (!owner || interface.name == address.scope) owner = &interface;
  }
  return owner;
}

std::string Describe(const std::vector<Interface>& interfaces) {
  std::vector<std::string> shown;
  for (const auto& [name, address] : interfaces) {
    if (!address.IsLoopback()) shown.push_back(address.ToString() + " (" + name + ")");
  }
  return absl::StrJoin(shown, ", ");
}

}  // namespace autodist::base
