#include "agent/prepare/rank_interfaces.h"

#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "agent/prepare/data_address.h"
#include "agent/prepare/netlink.h"
#include "base/fd.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

using base::Interface;
using base::IpAddress;

constexpr size_t kLargestRoute = 8 << 10;  // of the kernel's answer

bool IsLoopbackInterface(const std::string& name, const std::vector<Interface>& interfaces) {
  return std::ranges::any_of(interfaces, [&](const Interface& interface) {
    return interface.name == name && interface.address.IsLoopback();
  });
}

bool HasOutwardAddress(const std::string& name, bool v6, const std::vector<Interface>& interfaces) {
  return std::ranges::any_of(interfaces, [&](const Interface& interface) {
    const IpAddress& address = interface.address;
    return interface.name == name && address.v6 == v6 && !address.IsLoopback() &&
           !address.IsLinkLocal();
  });
}

// A request for the route to one address.
struct RouteRequest {
  nlmsghdr header{};
  rtmsg about{};
  rtattr to{};
  std::array<unsigned char, 16> address{};
};

// Removes a port, as in "eth0:1234".
std::string_view NameOf(std::string_view text) { return text.substr(0, text.find(':')); }

using Matches = std::function<bool(const Interface&)>;

const Interface* FirstOf(const std::vector<Interface>& interfaces, const Matches& matches) {
  const auto found = std::ranges::find_if(interfaces, matches);
  return found == interfaces.end() ? nullptr : &*found;
}

// Returns the first existing one of the names, which must match exactly.
const Interface* OfGloo(const std::string& value, const std::vector<Interface>& interfaces) {
  for (const std::string_view name : base::Split(value, ',')) {
    const Interface* found =
        FirstOf(interfaces, [&](const Interface& interface) { return interface.name == name; });
    if (found) return found;
  }
  return nullptr;
}

// Matches prefixes, "eth,ib"; exact names, "=eth0"; or all except some, "^lo,docker".
const Interface* OfNccl(const std::string& value, const std::vector<Interface>& interfaces) {
  std::string_view list = value;
  const bool others = list.starts_with('^');
  if (others) list.remove_prefix(1);
  const bool whole = list.starts_with('=');
  if (whole) list.remove_prefix(1);
  const auto names = base::Split(list, ',');
  return FirstOf(interfaces, [&](const Interface& interface) {
    if (interface.address.v6 && interface.address.IsLoopback()) return false;
    const bool listed = std::ranges::any_of(names, [&](std::string_view text) {
      const std::string_view name = NameOf(text);
      return whole ? interface.name == name : interface.name.starts_with(name);
    });
    return listed != others;
  });
}

}  // namespace

RankInterface ChooseRankInterface(const v1::NodePlan& node, const std::string& data_address,
                                  const std::vector<Interface>& interfaces, const WayTo& way_to) {
  if (!node.interface().empty()) return {node.interface(), ""};
  const auto wanted = IpAddress::Parse(data_address);
  const Interface* owner = wanted ? base::OwnerOf(*wanted, interfaces) : nullptr;
  if (!owner) {
    const std::string found = base::Describe(interfaces);
    return {"", "no interface of this node has the address " + data_address +
                    ", which the other ranks use; it has " + (found.empty() ? "none" : found)};
  }
  std::vector<std::string> peers(node.peers().begin(), node.peers().end());
  // The peers are not known yet: most routes to other machines use the same interface.
  if (peers.empty() && node.ask_data_address()) {
    peers.assign(std::begin(kElsewhere), std::end(kElsewhere));
  }
  if (peers.empty() || !IsLoopbackInterface(owner->name, interfaces)) return {owner->name, ""};
  std::string without_address;
  for (const std::string& peer : peers) {
    const auto target = IpAddress::Parse(peer);
    if (!target || base::OwnerOf(*target, interfaces)) continue;
    const std::string name = way_to(*target);
    if (name.empty() || IsLoopbackInterface(name, interfaces)) continue;
    if (HasOutwardAddress(name, target->v6, interfaces)) return {name, ""};
    without_address = ": " + name + ", which leads to " + peer + ", has no address";
  }
  return {"", data_address + " is on " + owner->name +
                  ", and no interface for the ranks of other nodes is found" + without_address +
                  "; set `interface` in the spec to the one that ranks are to use"};
}

std::string InterfaceTowards(const IpAddress& target) {
  const base::UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd.valid()) return "";
  const size_t size = target.v6 ? 16 : 4;
  RouteRequest request;
  request.header.nlmsg_len = static_cast<uint32_t>(offsetof(RouteRequest, address) + size);
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.about.rtm_family = target.v6 ? AF_INET6 : AF_INET;
  request.about.rtm_dst_len = static_cast<unsigned char>(size * 8);
  request.to.rta_type = RTA_DST;
  request.to.rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
  std::memcpy(request.address.data(), target.bytes.data(), size);
  if (send(fd.get(), &request, request.header.nlmsg_len, 0) < 0) return "";
  std::array<char, kLargestRoute> answer;
  const ssize_t got = recv(fd.get(), answer.data(), answer.size(), 0);
  if (got <= 0) return "";
  std::string name;
  ReadNetlinkPart(std::string_view(answer.data(), static_cast<size_t>(got)),
                  [&](uint16_t type, std::string_view content) {
                    if (type != RTM_NEWROUTE || content.size() < NetlinkAligned(sizeof(rtmsg)))
                      return;
                    const auto index = NetlinkValue<uint32_t>(
                        NetlinkAttribute(content.substr(NetlinkAligned(sizeof(rtmsg))), RTA_OIF));
                    std::array<char, IF_NAMESIZE> found{};
                    if (index && if_indextoname(*index, found.data())) name = found.data();
                  });
  return name;
}

uint32_t MtuOf(const std::string& interface) {
  const base::UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  if (!fd.valid() || interface.size() >= sizeof request.ifr_name) return 0;
  std::memcpy(request.ifr_name, interface.data(), interface.size());
  if (ioctl(fd.get(), SIOCGIFMTU, &request) != 0 || request.ifr_mtu < 0) return 0;
  return static_cast<uint32_t>(request.ifr_mtu);
}

std::vector<v1::RankNetwork> RankNetworksOf(const process::Environment& environment,
                                            const std::vector<Interface>& interfaces) {
  struct Library {
    const char* name;
    const char* variable;
    const Interface* (*choose)(const std::string&, const std::vector<Interface>&);
  };
  constexpr Library kLibraries[] = {{"Gloo", "GLOO_SOCKET_IFNAME", OfGloo},
                                    {"NCCL", "NCCL_SOCKET_IFNAME", OfNccl}};
  std::vector<v1::RankNetwork> networks;
  for (const Library& library : kLibraries) {
    const std::string value = environment.Get(library.variable);
    if (value.empty()) continue;
    v1::RankNetwork& network = networks.emplace_back();
    network.set_library(library.name);
    network.set_variable(library.variable);
    network.set_value(value);
    const Interface* chosen = library.choose(value, interfaces);
    if (!chosen) continue;
    network.set_interface(chosen->name);
    network.set_address(chosen->address.ToString());
  }
  return networks;
}

}  // namespace autodist::agent
