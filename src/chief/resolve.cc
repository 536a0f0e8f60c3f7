#include "chief/resolve.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "base/ip_address.h"

namespace autodist::chief {
namespace {

Result<std::string> Resolve(const std::string& host, bool several_nodes) {
  if (const auto numeric = base::IpAddress::Parse(host)) return numeric->ToString();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (error != 0) {
    return Error(StatusCode::kNotFound, "'" + host + "' does not resolve: " + gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  char text[NI_MAXHOST] = "";
  // IPv4 first: some frameworks cannot use IPv6 addresses. A loopback address, as many a /etc/hosts
  // gives the machine's own name, means another machine on each node.
  std::string best;
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
    const auto ip = base::IpAddress::Parse(text);
    if (!ip || (several_nodes && ip->IsLoopback())) continue;
    if (best.empty() || (base::IpAddress::Parse(best)->v6 && !ip->v6)) best = text;
  }
  if (!best.empty()) return best;
  return Error(StatusCode::kNotFound, "'" + host + "' resolves to " + text +
                                          " here, which means another machine on each node");
}

}  // namespace

Result<std::map<std::string, std::string>> ResolveAddresses(const spec::ResourceSpec& spec) {
  std::map<std::string, std::string> addresses;
  std::string failed;
  for (const spec::Node& node : spec.nodes) {
    const auto ip = Resolve(node.address, spec.nodes.size() > 1);
    if (ip.ok()) {
      addresses[node.address] = *ip;
    } else {
      failed += (failed.empty() ? "" : "\n") + Message(ip.status());
    }
  }
  if (failed.empty()) return addresses;
  return WithRemedy(Error(StatusCode::kNotFound, failed),
                    "correct the name in the spec, or give the IP address");
}

Status CheckChiefIsHere(const std::string& chief_address, const std::string& chief_ip) {
  const auto wanted = base::IpAddress::Parse(chief_ip);
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  if (wanted && (wanted->IsLoopback() || base::OwnerOf(*wanted, interfaces))) return OkStatus();
  const std::string here = base::Describe(interfaces);
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          "the chief of the spec is " + chief_address + ", but this machine is " +
                              (here.empty() ? "without a network" : here)),
                    "run autodist on the chief, or mark this machine as the chief in the spec");
}

Result<uint16_t> FreePort() {
  const base::UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::UniqueFd fd4(fd.valid() ? -1 : socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int used = fd.valid() ? fd.get() : fd4.get();
  sockaddr_storage address{};
  address.ss_family = fd.valid() ? AF_INET6 : AF_INET;
  socklen_t length = fd.valid() ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (bind(used, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      getsockname(used, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return ErrnoError(errno, "looking for a free port");
  }
  in_port_t port = 0;  // at the same place for both families
  std::memcpy(&port, reinterpret_cast<const char*>(&address) + offsetof(sockaddr_in, sin_port),
              sizeof port);
  return ntohs(port);
}

}  // namespace autodist::chief
