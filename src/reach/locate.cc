#include "reach/locate.h"

#include <strings.h>

#include <algorithm>

#include "base/host_name.h"
#include "base/ip_address.h"
#include "base/parallel.h"
#include "reach/resolve.h"

namespace autodist::reach {
namespace {

constexpr size_t kLookedUpAtOnce = 32;

}  // namespace

Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts) {
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const std::string own_name = base::HostName();
  std::vector<Location> locations(hosts.size());
  base::ParallelFor(hosts.size(), kLookedUpAtOnce, [&](size_t i) {
    Location& location = locations[i];
    const auto found = LookUp(hosts[i]).value_or(std::vector<base::IpAddress>());
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
    if (address.IsLoopback() || address.IsLinkLocal()) continue;
    if (!best || (best->v6 && !address.v6)) best = &address;
  }
  if (best) return best->ToString();
  return WithRemedy(
      Error(StatusCode::kNotFound, "this machine has no address under which others reach it"),
      "connect it to a network, or list it alone");
}

}  // namespace autodist::reach
