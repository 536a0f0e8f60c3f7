#include "chief/locate.h"

#include <netdb.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "chief/in_parallel.h"

namespace autodist::chief {
namespace {

constexpr size_t kLookedUpAtOnce = 32;

std::string ThisHostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Result<std::vector<base::IpAddress>> LookUp(const std::string& host) {
  if (const auto numeric = base::IpAddress::Parse(host)) return std::vector{*numeric};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return WithRemedy(
        Error(StatusCode::kNotFound, "'" + host + "' does not resolve: " + gai_strerror(error)),
        "correct the name, or give the IP address");
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<base::IpAddress> addresses;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    char text[NI_MAXHOST] = "";
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    if (const auto ip = base::IpAddress::Parse(text)) addresses.push_back(*ip);
  }
  return addresses;
}

bool IsLinkLocal(const base::IpAddress& address) {
  return address.v6 ? address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80
                    : address.bytes[0] == 169 && address.bytes[1] == 254;
}

}  // namespace

Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts) {
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const std::string own_name = ThisHostName();
  std::vector<Location> locations(hosts.size());
  InParallel(hosts.size(), kLookedUpAtOnce, [&](size_t i) {
    Location& location = locations[i];
    auto addresses = LookUp(hosts[i]);
    location.resolved = addresses.status();
    if (addresses.ok()) location.addresses = std::move(*addresses);
    const auto& found = location.addresses;
    location.here = strcasecmp(hosts[i].c_str(), own_name.c_str()) == 0 ||
                    std::any_of(found.begin(), found.end(), [&](const base::IpAddress& address) {
                      return address.IsLoopback() || base::OwnerOf(address, interfaces);
                    });
    location.only_loopback =
        location.here && std::all_of(found.begin(), found.end(),
                                     [](const base::IpAddress& a) { return a.IsLoopback(); });
  });
  return locations;
}

Result<std::string> OutwardAddress() {
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const base::IpAddress* best = nullptr;
  for (const base::Interface& interface : interfaces) {
    const base::IpAddress& address = interface.address;
    if (address.IsLoopback() || IsLinkLocal(address)) continue;
    if (!best || (best->v6 && !address.v6)) best = &address;
  }
  if (best) return best->ToString();
  return WithRemedy(
      Error(StatusCode::kNotFound, "this machine has no address under which others reach it"),
      "connect it to a network, or list it alone");
}

}  // namespace autodist::chief
