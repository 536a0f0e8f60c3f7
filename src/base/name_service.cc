#include "base/name_service.h"

#include <netdb.h>
#include <nss.h>
#include <sys/socket.h>

#include <memory>

namespace autodist::base {

void UseFilesAndDns() {
  __nss_configure_lookup("hosts", "files dns");
  for (const char* database : {"passwd", "group", "services", "protocols", "networks"}) {
    __nss_configure_lookup(database, "files");
  }
}

Result<std::vector<IpAddress>> AddressesOf(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    return Error(StatusCode::kNotFound,
                 "name does not resolve: '" + host + "': " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<IpAddress> addresses;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    char text[NI_MAXHOST] = "";
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    if (const auto ip = IpAddress::Parse(text)) addresses.push_back(*ip);
  }
  if (!addresses.empty()) return addresses;
  return Error(StatusCode::kNotFound, "name does not resolve: '" + host + "' has no IP address");
}

}  // namespace autodist::base
