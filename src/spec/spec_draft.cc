#include "spec/spec_draft.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/quantity.h"

namespace autodist::spec {
namespace {

constexpr char kOnlyGroup[] = "workers";

std::vector<uint32_t> FirstDevices(uint32_t count) {
  std::vector<uint32_t> devices(count);
  std::iota(devices.begin(), devices.end(), uint32_t{0});
  return devices;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

void DraftDevices(const HostEntry& host, const HostFacts& facts, Node& node, SpecDraft& draft) {
  std::string& note = draft.notes.back().devices;
  const uint32_t slots = host.slots.value_or(1);
  node.cpus = {0};
  if (!facts.gpus) {
    node.gpus = FirstDevices(slots);
    note = facts.not_reached.empty() ? "not asked; the numbers of its GPUs belong here"
                                     : "not reached: " + FirstLine(facts.not_reached);
  } else if (*facts.gpus == 0) {
    node.cpus = FirstDevices(slots);
    note = "no GPU there, " + base::Count(facts.cpus, "CPU") + "; one rank per number";
  } else {
    const uint32_t gpus = std::min(*facts.gpus, kMostSlots);
    node.gpus = FirstDevices(std::min(host.slots.value_or(gpus), gpus));
    if (host.slots && slots < gpus) {
      note = "the first " + std::to_string(slots) + " of " + std::to_string(gpus);
    } else if (slots > gpus) {
      note = std::to_string(slots) + " were asked for; it has " + std::to_string(gpus);
      draft.warnings.push_back(node.address + " has " + base::Count(gpus, "GPU") +
                               ", fewer than the " + std::to_string(slots) +
                               " given; the spec has those that are there");
    }
  }
}

// The user of a node that the chief logs in to.
std::string UserOf(const HostEntry& host, const SshGroup& login) {
  return host.user.empty() ? login.username : host.user;
}

}  // namespace

SpecDraft DraftSpec(const std::vector<HostEntry>& hosts, const std::vector<HostFacts>& facts,
                    const SshGroup& login) {
  size_t chief = 0;
  while (chief < hosts.size() && !facts[chief].here) ++chief;  // there may be none

  std::set<std::string> users;
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (i != chief) users.insert(UserOf(hosts[i], login));
  }
  SpecDraft draft;
  for (size_t i = 0; i < hosts.size(); ++i) {
    Node node;
    node.address = facts[i].address.empty() ? hosts[i].host : facts[i].address;
    node.chief = i == chief;
    if (node.chief) {  // which is in no group
      node.python_venv = login.python_venv;
      node.shared_envs = login.shared_envs;
    }
    draft.notes.push_back({facts[i].address_note, ""});
    DraftDevices(hosts[i], facts[i], node, draft);
    if (i != chief) {
      SshGroup group = login;
      group.username = UserOf(hosts[i], login);
      const bool plain = users.size() == 1 || group.username.empty();
      node.ssh_config = plain ? kOnlyGroup : "as_" + group.username;
      draft.spec.ssh.emplace(node.ssh_config, std::move(group));
    }
    draft.spec.nodes.push_back(std::move(node));
  }
  return draft;
}

}  // namespace autodist::spec
