#include "base/ip_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace autodist::base {

std::optional<IpAddress> IpAddress::Parse(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), address.bytes.data()) == 1) return address;
  const size_t percent = text.find('%');
  if (percent != std::string::npos) address.scope = text.substr(percent + 1);
  address.v6 = true;
  if (inet_pton(AF_INET6, text.substr(0, percent).c_str(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  return address;
}

bool IpAddress::IsLoopback() const {
  if (!v6) return bytes[0] == 127;
  std::array<unsigned char, 16> one{};
  one[15] = 1;
  return bytes == one;
}

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

const Interface* OwnerOf(const IpAddress& address, const std::vector<Interface>& interfaces) {
  for (const Interface& interface : interfaces) {
    if (interface.address.v6 == address.v6 && interface.address.bytes == address.bytes) {
      return &interface;
    }
  }
  return nullptr;
}

std::string Describe(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& interface : interfaces) {
    if (interface.address.IsLoopback()) continue;
    text += (text.empty() ? "" : ", ") + interface.address.ToString() + " (" + interface.name + ")";
  }
  return text;
}

}  // namespace autodist::base
