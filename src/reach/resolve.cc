#include "reach/resolve.h"

#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/for_user.h"
#include "base/host_name.h"
#include "base/ip_address.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/quantity.h"
#include "base/socket_address.h"
#include "reach/name_service.h"
#include "spec/address.h"
#include "ssh/ssh_program.h"
#include "transport/reach_causes.h"

namespace autodist::reach {
namespace {

constexpr size_t kThreads = 32;
// The time for the name service to resolve all names, which wait for each other if it hangs.
constexpr std::chrono::seconds kNamesLimit{30};

namespace cause = transport::cause;

Status NameError(const Status& failure) {
  std::string said = Message(failure);
  constexpr std::string_view kUnresolved = "name does not resolve: ";
  if (said.starts_with(kUnresolved)) said.erase(0, kUnresolved.size());
  const bool silent =
      transport::CauseIn(said, transport::SaidBy::kSsh) == &cause::kSilentNameService;
  return transport::CauseError(silent ? cause::kSilentNameService : cause::kUnknownName,
                               {{"{said}", said}});
}

// Returns the addresses in the order in which they are tried. `family`: AddressFamily.
Result<std::vector<std::string>> Resolve(const std::string& host, base::Deadline deadline,
                                         const std::string& family = "any") {
  auto addresses = LookUp(host, deadline);
  if (!addresses.ok()) return NameError(addresses.status());
  std::erase_if(*addresses, [&](const base::IpAddress& ip) {
    return (family == "inet" && ip.v6) || (family == "inet6" && !ip.v6);
  });
  if (!addresses->empty()) return InOrder(*std::move(addresses));
  return transport::CauseError(cause::kWrongFamily, {{"{name}", host}, {"{family}", family}});
}

void SetError(const Status& failure, plan::NodeAddress& found) {
  found.error = Message(failure);
  found.hint = Remedy(failure);
}

// Whether the node's name may only be valid behind a proxy.
bool IsBehindProxy(const spec::SshGroup& group, const plan::OpensshValues& config) {
  if (!group.proxy_jump.empty()) return group.proxy_jump != "none";
  return !ssh::ValueOf(config, "proxyjump").empty() ||
         !ssh::ValueOf(config, "proxycommand").empty();
}

// Splits up the settings that autodist's logins do not support: reasons to use ssh go to `found`;
// returns the unused settings.
std::vector<std::string> Distribute(const spec::SshGroup& group, plan::NodeAddress& found) {
  plan::OpensshValues config = found.openssh;
  if (group.proxy_jump == "none") {
    for (const char* keyword : {"proxyjump", "proxycommand", "proxyusefdpass"}) {
      config.erase(keyword);
    }
  }
  plan::SshConfigUse use =
      plan::UseOf(config, ssh::OpensshDefaults().value_or(plan::OpensshValues()));
  found.left_to_ssh = std::move(use.handed_over);
  if (ssh::HasControlConnection(config)) {
    found.left_to_ssh.push_back("ControlPath " + ssh::ValueOf(config, "controlpath"));
  }
  return std::move(use.not_used);
}

// Warns of unused settings, once per process.
void WarnOfNotUsed(const std::map<std::string, std::vector<std::string>>& nodes_by_text) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  for (const auto& [text, nodes] : nodes_by_text) {
    if (!warned.insert(text).second) continue;
    base::Log(base::LogLevel::kWarning,
              "OpenSSH's configuration of " + nodes.front() +
                  (nodes.size() == 1 ? "" : " and " + base::Count(nodes.size() - 1, "other node")) +
                  " has settings that autodist ignores: " + text);
  }
}

// Runs `ssh -G` for the node, and resolves the host name. `configuration`: an error in all of it.
plan::NodeAddress FindBySsh(const spec::Node& node, const spec::SshGroup& group, bool configured,
                            base::Deadline deadline, std::vector<std::string>& not_used,
                            Status& configuration) {
  plan::NodeAddress found;
  // The configuration also decides how a new key is added to known_hosts.
  if (configured || group.host_key_check == v1::HOST_KEY_CHECK_ACCEPT_NEW) {
    auto config = ssh::QueryOpensshConfig(
        {node.address, group.username, node.port ? node.port : group.port, node.ssh_address});
    if (config.ok()) {
      found.openssh = std::move(*config);
      not_used = Distribute(group, found);
    } else if (config.status().code() != StatusCode::kNotFound) {
      if (config.status().code() == StatusCode::kInvalidArgument) configuration = config.status();
      SetError(config.status(), found);
      return found;
    } else if (configured) {
      not_used = {"all of them, because the ssh program is not in PATH"};
    }
  }
  const auto ips =
      Resolve(SshHost(node, found.openssh), deadline, ssh::ValueOf(found.openssh, "addressfamily"));
  // Behind a jump host the name may only be valid there.
  if (ips.ok()) {
    found.ssh = ips->front();
    found.others.assign(ips->begin() + 1, ips->end());
  } else {
    found.no_ssh = Message(ips.status());
    found.hint = Remedy(ips.status());
  }
  return found;
}

// The placeholder for an address that is not yet known.
constexpr char kNotKnownYet[] = "0.0.0.0";

// Returns the expected address of a node that must be asked; an IPv6 address may not be for ranks.
std::string Expected(const std::string& ssh) {
  const auto ip = base::IpAddress::Parse(ssh);
  return ip && !ip->v6 && !ip->IsLoopback() ? ssh : kNotKnownYet;
}

// The same for a name that only OpenSSH's configuration may have.
Result<std::vector<std::string>> ResolveAlias(const std::string& name, bool configured,
                                              base::Deadline deadline) {
  auto ips = Resolve(name, deadline);
  if (ips.ok() || !configured) return ips;
  const auto config = ssh::QueryOpensshConfig({.host = name});
  const std::string hostname = config.ok() ? ssh::ValueOf(*config, "hostname") : "";
  return hostname.empty() || hostname == name ? ips : Resolve(hostname, deadline);
}

// The address between ranks is that of SSH unless the spec says otherwise.
void FindData(const spec::Node& node, bool several_nodes, bool configured, base::Deadline deadline,
              plan::NodeAddress& found) {
  if (!found.error.empty()) return;
  const std::string& name = node.data_address.empty() ? node.address : node.data_address;
  if (node.data_address.empty() && !found.ssh.empty()) {
    found.data = found.ssh;
  } else if (const auto ips = ResolveAlias(name, configured, deadline); ips.ok()) {
    found.data = ips->front();
  } else {
    return SetError(ips.status(), found);
  }
  const auto ip = base::IpAddress::Parse(found.data);
  if (several_nodes && ip && ip->IsLoopback()) {
    SetError(
        transport::CauseError(cause::kLoopbackName, {{"{name}", name}, {"{address}", found.data}}),
        found);
  }
}

}  // namespace

std::string SshHost(const spec::Node& node, const plan::OpensshValues& openssh) {
  if (!node.ssh_address.empty()) return node.ssh_address;
  const std::string hostname = ssh::ValueOf(openssh, "hostname");
  return hostname.empty() ? node.address : hostname;
}

std::vector<std::string> InOrder(std::vector<base::IpAddress> addresses) {
  std::ranges::stable_sort(
      addresses, {}, [](const base::IpAddress& ip) { return std::pair(ip.IsLoopback(), ip.v6); });
  if (!addresses.empty() && !addresses.front().IsLoopback()) {
    std::erase_if(addresses, [](const base::IpAddress& ip) { return ip.IsLoopback(); });
  }
  std::vector<std::string> texts;
  for (const base::IpAddress& ip : addresses) {
    const std::string text = ip.ToString();
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

Result<std::vector<Location>> Locate(const std::vector<std::string>& hosts) {
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const std::string own_name = base::HostName();
  std::vector<Location> locations(hosts.size());
  const base::Deadline deadline = base::Deadline::After(kNamesLimit);
  base::ParallelFor(hosts.size(), kThreads, [&](size_t i) {
    Location& location = locations[i];
    const auto found = LookUp(hosts[i], deadline).value_or(std::vector<base::IpAddress>());
    location.here = strcasecmp(hosts[i].c_str(), own_name.c_str()) == 0 ||
                    std::ranges::any_of(found, [&](const base::IpAddress& address) {
                      return address.IsLoopback() || base::OwnerOf(address, interfaces);
                    });
    location.only_loopback =
        location.here && std::ranges::all_of(found, &base::IpAddress::IsLoopback);
  });
  return locations;
}

bool IsForwarded(const std::string& host, uint32_t port) {
  constexpr uint32_t kSshdPort = 22;
  return spec::IsLoopback(host) && port != kSshdPort;
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
      Error(StatusCode::kNotFound, "this machine has no address that other machines can reach"),
      "connect it to a network, or use it alone");
}

Result<std::map<std::string, plan::NodeAddress>> FindNodes(const spec::ResourceSpec& spec,
                                                           const plan::User& user) {
  const bool configured = ssh::OpensshConfigMatters(user.home, plan::KeywordMatters);
  const bool several = spec.nodes.size() > 1;
  const bool from_outside = !spec.chief();
  std::vector<plan::NodeAddress> found(spec.nodes.size());
  std::vector<std::vector<std::string>> not_used(spec.nodes.size());
  std::vector<Status> configuration(spec.nodes.size());
  const base::Deadline deadline = base::Deadline::After(kNamesLimit);
  base::ParallelFor(found.size(), kThreads, [&](size_t i) {
    const spec::Node& node = spec.nodes[i];
    const spec::SshGroup& group = spec.group_of(node);
    const bool by_ssh = !node.chief && !group.ByProgram();
    if (by_ssh) {
      found[i] = FindBySsh(node, group, configured, deadline, not_used[i], configuration[i]);
    }
    // A host behind a proxy or a tunnel may have a name only there; a container may have a separate
    // network.
    const plan::OpensshValues& openssh = found[i].openssh;
    const bool hidden = by_ssh && (spec::IsLoopback(SshHost(node, openssh)) ||
                                   (found[i].ssh.empty() && IsBehindProxy(group, openssh)));
    const bool expects_none = from_outside || !group.via.empty() || hidden;
    // Of several addresses, the one that answers is for ranks, too.
    found[i].ask = (expects_none || !found[i].others.empty()) && node.data_address.empty();
    if (found[i].ask && expects_none) {
      // Nodes of an allocation resolve each other's names.
      const auto known =
          group.BySlurm() ? Resolve(node.address, deadline) : Result<std::vector<std::string>>();
      found[i].data = Expected(known.ok() ? known->front() : found[i].ssh);
    } else {
      FindData(node, several, configured, deadline, found[i]);
    }
  });
  std::map<std::string, std::vector<std::string>> warnings;
  for (size_t i = 0; i < found.size(); ++i) {
    AD_RETURN_IF_ERROR(configuration[i]);
    for (const std::string& text : not_used[i]) warnings[text].push_back(spec.nodes[i].address);
  }
  WarnOfNotUsed(warnings);
  std::map<std::string, plan::NodeAddress> addresses;
  for (size_t i = 0; i < found.size(); ++i) {
    if (!found[i].error.empty() && (spec.nodes[i].chief || deadline.Expired())) {
      return Status(deadline.Expired() ? StatusCode::kDeadlineExceeded : StatusCode::kNotFound,
                    found[i].error, found[i].hint);
    }
    addresses[spec.nodes[i].address] = std::move(found[i]);
  }
  return addresses;
}

Status SettleChief(plan::Input& input) {
  spec::ResourceSpec& spec = input.spec;
  if (spec.chief()) return OkStatus();
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const std::string own_name = base::HostName();
  const auto is_here = [&](const spec::Node& node) {
    const spec::SshGroup& group = spec.group_of(node);
    // The port of a group may be that of all nodes.
    const auto port = node.port || spec.nodes.size() > 1 ? node.port : group.port;
    if (!group.via.empty() || (port && IsForwarded(node.address, *port))) return false;
    if (strcasecmp(node.address.c_str(), own_name.c_str()) == 0) return true;
    if (spec::IsLoopback(node.address)) return true;
    // A name that resolves to a loopback address is the entry of a tunnel.
    const auto ip = base::IpAddress::Parse(input.address_of.at(node.address).ssh);
    return ip && !ip->IsLoopback() && base::OwnerOf(*ip, interfaces);
  };
  const auto here = std::ranges::find_if(spec.nodes, is_here);
  if (here == spec.nodes.end()) return OkStatus();
  if (spec.nodes.size() > 1) {
    return WithRemedy(Error(StatusCode::kInvalidArgument,
                            here->address + " is this machine, but no node" +
                                base::ForUser("[spec| of the spec]") + " is the chief"),
                      base::ForUser("[spec|add 'chief: true' to it]"));
  }
  spec::TakeEnvironment(spec.group_of(*here), *here);
  here->chief = true;
  AD_ASSIGN_OR_RETURN(input.address_of, FindNodes(spec, input.user));
  return OkStatus();
}

Status CheckChiefIsHere(const v1::LaunchPlan& plan) {
  const v1::NodePlan& chief = plan.nodes(0);
  if (!chief.reach().has_local()) return OkStatus();  // the chief has no ranks
  AD_ASSIGN_OR_RETURN(const std::vector<base::Interface> interfaces, base::LocalInterfaces());
  const auto wanted = base::IpAddress::Parse(chief.data_address());
  if (wanted && (wanted->IsLoopback() || base::OwnerOf(*wanted, interfaces))) return OkStatus();
  const std::string here = base::Describe(interfaces);
  if (chief.own_data_address()) {
    AD_ASSIGN_OR_RETURN(const auto locations, Locate({chief.address()}));
    if (locations.front().here) {
      return WithRemedy(
          Error(StatusCode::kFailedPrecondition, "no interface of this machine has " +
                                                     chief.data_address() +
                                                     ", the data_address of " + chief.address() +
                                                     "; it has " + (here.empty() ? "none" : here)),
          base::ForUser("[spec|correct or remove data_address of this node in the spec]"));
    }
  }
  // Nodes may have other addresses for SSH.
  const auto is_here = [&](const v1::NodePlan& node) {
    return std::ranges::any_of(std::array{node.data_address(), node.reach().ssh().address()},
                               [&](const auto& text) {
                                 const auto ip = base::IpAddress::Parse(text);
                                 return ip && base::OwnerOf(*ip, interfaces);
                               });
  };
  const auto own = std::ranges::find_if(plan.nodes(), is_here);
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition, base::ForUser("the chief[spec| of the spec] is ") +
                                                 chief.address() + ", but this machine is " +
                                                 (here.empty() ? "without a network" : here)),
      "run autodist on " + chief.address() + ", or " +
          (own == plan.nodes().end() ? "remove 'chief: true' to launch from outside the nodes"
                                     : "move 'chief: true' to " + own->address()));
}

Result<uint16_t> FreePort() {
  base::UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  base::IpAddress any;
  any.v6 = fd.valid();
  if (!any.v6) fd.Reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::SocketAddress address(any, 0);
  sockaddr_in6 bound{};
  socklen_t length = sizeof bound;
  if (bind(fd.get(), address.get(), address.length()) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return ErrnoError(errno, "looking for a free port");
  }
  return ntohs(bound.sin6_port);  // at the same offset for both families
}

}  // namespace autodist::reach
