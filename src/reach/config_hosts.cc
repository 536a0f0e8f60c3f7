#include "reach/config_hosts.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/parallel.h"
#include "reach/name_service.h"
#include "ssh/ssh_program.h"

namespace autodist::reach {
namespace {

constexpr size_t kConfigsAskedAtOnce = 32;
constexpr std::chrono::seconds kLookUpLimit{30};

constexpr std::array kCodeHosts = {"github.com",
                                   "ssh.github.com",
                                   "gitlab.com",
                                   "altssh.gitlab.com",
                                   "bitbucket.org",
                                   "altssh.bitbucket.org",
                                   "codeberg.org",
                                   "ssh.dev.azure.com",
                                   "vs-ssh.visualstudio.com",
                                   "git.sr.ht",
                                   "hf.co",
                                   "huggingface.co",
                                   "gitee.com",
                                   "aur.archlinux.org",
                                   "source.developers.google.com"};
// The first label of such host names.
constexpr std::array kCodeHostLabels = {"git",    "github",  "gitlab",   "gitea",
                                        "gerrit", "forgejo", "bitbucket"};
constexpr std::array kCodeUsers = {"git", "hg", "svn", "gitlab", "gitea", "forgejo", "aur"};

std::string HostNameOf(const std::string& name, const ConfiguredHost& host) {
  const std::string configured = ssh::ValueOf(host.openssh, "hostname");
  return configured.empty() ? name : configured;
}

ConfiguredHost AskOf(const std::string& name, base::Deadline deadline) {
  ConfiguredHost host;
  auto config = ssh::QueryOpensshConfig({.host = name});
  if (config.ok()) host.openssh = std::move(*config);
  host.address = HostNameOf(name, host);
  // Behind a proxy the name may only be valid there.
  if (!ssh::ValueOf(host.openssh, "proxyjump").empty() ||
      !ssh::ValueOf(host.openssh, "proxycommand").empty())
    return host;
  if (!WhyCodeHost(name, host).empty()) return host;
  const auto addresses = LookUp(host.address, deadline);
  if (addresses.ok() && !addresses->empty()) {
    host.address = std::ranges::min_element(*addresses, {}, [](const base::IpAddress& ip) {
                     return std::pair(ip.v6, ip.ToString());
                   })->ToString();
  }
  return host;
}

}  // namespace

std::string WhyCodeHost(const std::string& name, const ConfiguredHost& host) {
  const std::string user = ssh::ValueOf(host.openssh, "user");
  if (std::ranges::find(kCodeUsers, user) != kCodeUsers.end()) return "it has User " + user;
  const std::string hostname = HostNameOf(name, host);
  if (std::ranges::find(kCodeHosts, hostname) != kCodeHosts.end()) {
    return "its HostName is " + hostname;
  }
  const std::string label = hostname.substr(0, hostname.find('.'));
  const bool is_label = std::ranges::find(kCodeHostLabels, label) != kCodeHostLabels.end() ||
                        absl::StartsWith(label, "git-codecommit");
  return is_label ? "its HostName, " + hostname + ", is one of a code host" : "";
}

std::string MachineOf(const std::string& name, const ConfiguredHost& host) {
  std::string machine = host.address + " port " + ssh::ValueOf(host.openssh, "port");
  const std::string jump = ssh::ValueOf(host.openssh, "proxyjump");
  const std::string command = ssh::ValueOf(host.openssh, "proxycommand");
  if (jump.empty() && command.empty()) return machine;
  machine += " through " + jump + command + " as " + ssh::ValueOf(host.openssh, "hostkeyalias");
  // The name itself, which differs from the others.
  if (command.find("%n") != std::string::npos) machine += " of " + name;
  return machine;
}

void SettleConfigHosts(spec::HostList& list) {
  std::vector<ConfiguredHost> known(list.hosts.size());
  const base::Deadline deadline = base::Deadline::After(kLookUpLimit);
  base::ParallelFor(known.size(), kConfigsAskedAtOnce,
                    [&](size_t i) { known[i] = AskOf(list.hosts[i].host, deadline); });
  std::vector<spec::HostEntry> settled;
  std::map<std::string, size_t> index;  // of a machine, in `settled`
  for (size_t i = 0; i < known.size(); ++i) {
    const std::string& name = list.hosts[i].host;
    if (const std::string why = WhyCodeHost(name, known[i]); !why.empty()) {
      list.warnings.push_back(name + " is left out, as a code host: " + why +
                              "; a machine for ranks can be given by --hosts");
      continue;
    }
    const auto [first, is_new] = index.emplace(MachineOf(name, known[i]), settled.size());
    if (is_new) {
      settled.push_back(std::move(list.hosts[i]));
    } else {
      settled[first->second].also.push_back(name);
    }
  }
  if (settled.empty() && !list.hosts.empty()) {
    list.issues.push_back(
        {"--ssh-config", 0, 0, "all hosts of it are left out; give the machines by --hosts"});
  }
  list.hosts = std::move(settled);
}

void MergeSameMachines(std::vector<spec::HostEntry>& hosts, std::vector<spec::HostFacts>& facts) {
  std::vector<spec::HostEntry> merged_hosts;
  std::vector<spec::HostFacts> merged_facts;
  std::map<std::string, size_t> index;  // by reported machine
  for (size_t i = 0; i < hosts.size(); ++i) {
    const std::string machine = facts[i].here ? "here" : facts[i].machine;
    const auto found = machine.empty() ? index.end() : index.find(machine);
    if (found == index.end()) {
      if (!machine.empty()) index.emplace(machine, merged_hosts.size());
      merged_hosts.push_back(std::move(hosts[i]));
      merged_facts.push_back(std::move(facts[i]));
      continue;
    }
    spec::HostEntry& first = merged_hosts[found->second];
    first.also.push_back(hosts[i].host);
    first.also.insert(first.also.end(), hosts[i].also.begin(), hosts[i].also.end());
  }
  hosts = std::move(merged_hosts);
  facts = std::move(merged_facts);
}

}  // namespace autodist::reach
