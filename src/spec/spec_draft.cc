#include "spec/spec_draft.h"

#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/for_user.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/split.h"
#include "spec/host_settings.h"

namespace autodist::spec {
namespace {

constexpr char kOnlyGroup[] = "workers";

std::vector<uint32_t> FirstDevices(uint32_t count) {
  std::vector<uint32_t> devices(count);
  std::iota(devices.begin(), devices.end(), uint32_t{0});
  return devices;
}

// Returns the host as in --hosts.
std::string InHosts(const HostEntry& host) {
  const bool v6 = host.host.find(':') != std::string::npos;
  return v6 ? "[" + host.host + "]" : host.host;
}

std::string PortHint(const HostEntry& host) {
  const std::string named = InHosts(host);
  const std::string slots = std::to_string(*host.slots);
  const std::string means = "'" + named + ":" + slots + "' means " + slots + " devices; a port is ";
  return means + absl::StrReplaceAll(
                     base::ForUser("[hosts|'Port {slots}' in ~/.ssh/config, or 'port' of a spec]"
                                   "[spec,init|'--port {slots}' of init, 'port: {slots}' of the "
                                   "ssh group, or '[{host}]:{slots}' as a spec's address]"),
                     {{"{slots}", slots}, {"{host}", host.host}});
}

// Drafts a host without a GPU.
void DraftCpus(const HostEntry& host, const HostFacts& facts, Node& node, SpecDraft& draft) {
  uint32_t slots = host.slots.value_or(1);
  const bool too_many = facts.cpus > 0 && slots > facts.cpus;
  const bool odd = host.slots && IsLikeAPort(slots);
  if (too_many && odd) slots = facts.cpus;
  node.cpus = FirstDevices(slots);
  draft.notes.back().devices =
      "no GPU there, " + base::Count(facts.cpus, "CPU") + "; one rank per number";
  if (!too_many && !odd) return;
  draft.warnings.push_back(node.address + " has no GPU and " + base::Count(facts.cpus, "CPU") +
                           (too_many ? ", fewer than the " : ", and there are ") +
                           std::to_string(*host.slots) + " given" +
                           (!odd       ? "; some share a CPU"
                            : too_many ? "; those that are there are used; " + PortHint(host)
                                       : "; " + PortHint(host)));
}

void DraftUnknown(const HostEntry& host, const HostFacts& facts, Node& node, SpecDraft& draft) {
  std::string& note = draft.notes.back().devices;
  node.gpus = FirstDevices(host.slots.value_or(1));
  const std::string why(base::FirstLine(Message(facts.unknown)));
  node.reached = facts.cpus > 0;
  if (!host.slots) {
    node.counted = facts.unknown.ok() ? Error(StatusCode::kNotFound, "not asked") : facts.unknown;
    note = (facts.unknown.ok() ? "not asked" : why) +
           "; write the numbers of the GPUs here, such as [0, 1]";
  } else if (facts.unknown.ok()) {
    note = "not asked; put the numbers of the GPUs here";
  } else {
    note = (node.reached ? "not counted: " : "not reached: ") + why;
  }
}

void DraftDevices(const HostEntry& host, const HostFacts& facts, Node& node, SpecDraft& draft) {
  std::string& note = draft.notes.back().devices;
  const uint32_t slots = host.slots.value_or(1);
  if (!facts.unknown.ok() && !facts.reported && (host.slots || !host.devices.empty())) {
    draft.warnings.push_back(
        base::FailureText(Annotate(facts.unknown, node.address + " did not report the devices")));
  }
  if (facts.gpus.value_or(0) > 0 && !facts.nvidia_smi.empty()) {
    draft.warnings.push_back(node.address + ": nvidia-smi says: " + facts.nvidia_smi);
  }
  node.cpus = {0};
  if (!host.devices.empty()) {
    node.gpus = host.devices;
    node.device_ips = host.device_ips;
  } else if (!facts.gpus) {
    DraftUnknown(host, facts, node, draft);
  } else if (*facts.gpus == 0) {
    DraftCpus(host, facts, node, draft);
  } else {
    const uint32_t gpus = std::min(*facts.gpus, kMaxSlots);
    node.gpus = FirstDevices(std::min(host.slots.value_or(gpus), gpus));
    if (host.slots && slots < gpus) {
      note = "the first " + std::to_string(slots) + " of " + std::to_string(gpus);
    } else if (slots > gpus) {
      note = std::to_string(slots) + " were asked for; it has " + std::to_string(gpus);
      draft.warnings.push_back(node.address + " has " + base::Count(gpus, "GPU") +
                               ", fewer than the " + std::to_string(slots) +
                               " given; those that are there are used" +
                               (IsLikeAPort(slots) ? "; " + PortHint(host) : ""));
    }
  }
}

std::string AddressNote(const HostEntry& host, const HostFacts& facts) {
  std::string note = facts.address_note.empty() ? host.note : facts.address_note;
  if (host.also.empty()) return note;
  return note + (note.empty() ? "also " : "; also ") + absl::StrJoin(host.also, ", ");
}

bool HasNoGpu(const HostEntry& host, const HostFacts& facts) {
  return host.devices.empty() && facts.gpus == 0u;
}

// Warns of hosts without a GPU if others have GPUs. A rank on a CPU would slow down the others, so
// such hosts get none, unless a number was given for them.
void PointOutHostsWithoutGpus(const std::vector<HostEntry>& hosts,
                              const std::vector<HostFacts>& facts, SpecDraft& draft) {
  constexpr size_t kMaxNamed = 8;
  const auto with = static_cast<size_t>(std::ranges::count_if(
      facts, [](const HostFacts& host) { return host.gpus.value_or(0) > 0; }));
  std::vector<std::string> without;
  std::string first;
  std::string given;
  for (size_t i = 0; with > 0 && i < hosts.size(); ++i) {
    if (!HasNoGpu(hosts[i], facts[i])) continue;
    Node& node = draft.spec.nodes[i];
    const std::string& said = facts[i].nvidia_smi;
    if (first.empty()) first = InHosts(hosts[i]);
    without.push_back(node.address + (said.empty() ? "" : " (nvidia-smi says: " + said + ")"));
    if (hosts[i].slots && !hosts[i].counted) {
      given = node.address;
      continue;
    }
    node.cpus.clear();
    draft.notes[i].devices = std::string("no GPU there, and ") +
                             (with == 1 ? "another host has" : "others have") +
                             " GPUs, so it has no rank";
  }
  if (without.empty()) return;
  const bool one = without.size() == 1;
  const std::string by_spec = base::ForUser("[spec,init|'cpus: [0]' in the spec, or ]");
  const std::string others = (with + without.size() == hosts.size() ? "the other " : "") +
                             (with == 1 ? "one" : std::to_string(with));
  if (without.size() > kMaxNamed) {
    without.resize(kMaxNamed);
    without.emplace_back("…");
  }
  draft.warnings.push_back(
      absl::StrJoin(without, ", ") + (one ? " has" : " have") + " no GPU, " + others +
      (with == 1 ? " has" : " have") + "; leave " +
      (one ? "it out unless it is to have a rank" : "them out unless they are to have ranks") +
      (given.empty() ? ", which it gets by " + by_spec + first + ":1 in --hosts"
                     : ", as the number behind " + given + " says"));
}

// Adds "'a:22' means ..." if no host was asked, or none answered.
void PointOutPorts(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                   SpecDraft& draft) {
  const HostEntry* first = nullptr;
  size_t others = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const bool odd = hosts[i].slots && hosts[i].devices.empty() && IsLikeAPort(*hosts[i].slots);
    if (!odd || facts[i].gpus) continue;
    others += first ? 1 : 0;
    if (!first) first = &hosts[i];
  }
  if (!first) return;
  draft.warnings.push_back(
      PortHint(*first) +
      (others > 0 ? " (the same goes for " + base::Count(others, "other host") + ")" : ""));
}

bool SameLogin(const SshGroup& a, const SshGroup& b) {
  return a.username == b.username && a.key_file == b.key_file && a.port == b.port &&
         a.proxy_jump == b.proxy_jump;
}

// Returns a unique name for a group.
std::string NameGroup(const HostEntry& host, const SshGroup& group, const SshGroup& login,
                      bool only, std::map<std::string, SshGroup>& groups) {
  std::string base = only || group.username.empty() ? kOnlyGroup : "as_" + group.username;
  if (!only && host.port && host.port != login.port) base += "_port_" + std::to_string(*host.port);
  std::string name = base;
  for (int number = 2; groups.contains(name) && !SameLogin(groups[name], group); ++number) {
    name = base + "_" + std::to_string(number);
  }
  groups.emplace(name, group);
  return name;
}

}  // namespace

SshGroup GroupOf(const HostEntry& host, SshGroup login) {
  if (!host.user.empty()) login.username = host.user;
  if (!host.key_file.empty()) login.key_file = host.key_file;
  if (host.port) login.port = host.port;
  if (!host.proxy_jump.empty()) login.proxy_jump = host.proxy_jump;
  return login;
}

SpecDraft DraftSpec(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                    const SshGroup& login) {
  size_t chief = 0;
  while (chief < hosts.size() && !facts[chief].here) ++chief;  // none may be this machine

  const auto is_worker = [&](size_t i) { return i != chief; };
  bool only = true;  // whether all nodes have the same login settings
  const HostEntry* first = nullptr;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (!is_worker(i)) continue;
    if (!first) first = &hosts[i];
    only = only && SameLogin(GroupOf(*first, login), GroupOf(hosts[i], login));
  }
  SpecDraft draft;
  for (size_t i = 0; i < hosts.size(); ++i) {
    Node node;
    node.address = facts[i].address.empty() ? hosts[i].host : facts[i].address;
    if (node.address != hosts[i].host) node.given = hosts[i].host;
    node.chief = i == chief;
    if (node.chief) TakeEnvironment(login, node);  // the chief is in no group
    draft.notes.push_back({AddressNote(hosts[i], facts[i]), ""});
    DraftDevices(hosts[i], facts[i], node, draft);
    if (is_worker(i)) {
      node.ssh_config = NameGroup(hosts[i], GroupOf(hosts[i], login), login, only, draft.spec.ssh);
    }
    draft.spec.nodes.push_back(std::move(node));
  }
  PointOutHostsWithoutGpus(hosts, facts, draft);
  PointOutPorts(hosts, facts, draft);
  return draft;
}

}  // namespace autodist::spec
