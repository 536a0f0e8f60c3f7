#include "spec/foreign_hosts.h"

#include <algorithm>

#include "base/split.h"
#include "spec/address.h"
#include "spec/ansible_inventory.h"
#include "spec/host_range.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr char kNoHosts[] = "it names no machine";
constexpr int kDeepestGroup = 32;

HostCollector::Place PlaceIn(YamlView view) { return {view.line(), 0}; }

uint32_t NumberOf(YamlView view) { return ReadWholeNumber(view.text(), kMaxSlots).value_or(0); }

// Adds a name or an address, without a number of devices.
void AddHost(YamlView view, HostEntry entry, HostCollector& collector) {
  entry.host = view.text();
  if (const Status status = CheckHost(entry.host); !status.ok()) {
    return collector.Report(PlaceIn(view), Message(status));
  }
  if (!entry.user.empty() && !CheckUser(entry.user).ok()) {
    return collector.Report(PlaceIn(view), Message(CheckUser(entry.user)));
  }
  if (entry.key_file.find('\0') != std::string::npos) {
    return collector.Report(PlaceIn(view), "the name of a key file with a zero byte");
  }
  collector.Add(std::move(entry), PlaceIn(view));
}

// Adds the devices of one machine of a rank table.
void AddServer(YamlView server, YamlView devices, HostCollector& collector) {
  HostEntry entry;
  devices.ForEach([&](YamlView device) {
    const auto number = ReadWholeNumber(device["device_id"].text(), kMaxSlots - 1);
    if (!number) {
      return collector.Report(PlaceIn(device), "a device without a 'device_id' that is a number");
    }
    if (std::ranges::find(entry.devices, *number) != entry.devices.end()) return;
    entry.devices.push_back(*number);
    if (const auto ip = ReadIpv4(device["device_ip"].text()); ip.ok()) {
      entry.device_ips.push_back(*ip);
    }
  });
  if (entry.device_ips.size() != entry.devices.size()) entry.device_ips.clear();
  entry.slots = static_cast<uint32_t>(entry.devices.size());
  if (entry.devices.empty()) {
    return collector.Report(PlaceIn(server), "a server without devices");
  }
  AddHost(server["server_id"], std::move(entry), collector);
}

void AddGroup(YamlView group, const std::string& name, int depth, Inventory& inventory) {
  if (depth > kDeepestGroup) return;
  Inventory::Variables variables;
  const auto add_to = [](Inventory::Variables& to) {
    return [&to](const std::string& key, YamlView value) { to[key] = value.text(); };
  };
  group["vars"].ForEachEntry(add_to(variables));
  inventory.AddVariables(name, variables);
  group["hosts"].ForEachEntry([&](const std::string& host, YamlView value) {
    Inventory::Variables own;
    value.ForEachEntry(add_to(own));
    inventory.AddHost(name, host, own, {group["hosts"].line(), 0});
  });
  group["children"].ForEachEntry([&](const std::string& child, YamlView value) {
    inventory.AddChild(name, child);
    AddGroup(value, child, depth + 1, inventory);
  });
}

}  // namespace

HostList HostsOfList(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEach([&](YamlView host) { collector.AddWord(host.text(), {}, PlaceIn(host)); });
  return collector.Take(kNoHosts);
}

HostList HostsOfNumbers(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEachEntry([&](const std::string& host, YamlView slots) {
    HostEntry entry;
    entry.slots = collector.ReadSlots(slots.text(), PlaceIn(slots));
    if (*entry.slots > 0) collector.AddWord(host, std::move(entry), PlaceIn(slots));
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfAccelerate(YamlView root, const std::string& file) {
  HostCollector collector(file);
  HostEntry entry;
  entry.host = "localhost";
  const std::string ids = root["gpu_ids"].text();
  for (const std::string_view id : base::Split(ids, ',')) {
    const size_t begin = std::min(id.find_first_not_of(' '), id.size());
    if (const auto number = ReadWholeNumber(id.substr(begin), kMaxSlots - 1)) {
      entry.devices.push_back(*number);
    }
  }
  const uint32_t processes = NumberOf(root["num_processes"]);
  if (processes > 0 && processes < entry.devices.size()) entry.devices.resize(processes);
  if (processes > 0) entry.slots = processes;
  collector.Add(std::move(entry), {1, 1});
  return collector.Take(kNoHosts);
}

HostList HostsOfRay(YamlView root, const std::string& file) {
  HostCollector collector(file);
  HostEntry login;
  login.user = root["auth"]["ssh_user"].text();
  login.key_file = root["auth"]["ssh_private_key"].text();
  const YamlView provider = root["provider"];
  AddHost(provider["head_ip"], login, collector);
  provider["worker_ips"].ForEach([&](YamlView ip) { AddHost(ip, login, collector); });
  return collector.Take(kNoHosts);
}

HostList HostsOfSkyPools(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root.ForEachEntry([&](const std::string&, YamlView pool) {
    pool["hosts"].ForEach([&](YamlView host) {
      HostEntry entry;
      const auto either = [&](const char* key) {
        return (host.Has(key) ? host : pool)[key].text();
      };
      entry.user = either("user");
      entry.key_file = either("identity_file");
      AddHost(host.IsMapping() ? host["ip"] : host, std::move(entry), collector);
    });
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfRankTable(YamlView root, const std::string& file) {
  HostCollector collector(file);
  root["server_list"].ForEach(
      [&](YamlView server) { AddServer(server, server["device"], collector); });
  root["group_list"].ForEach([&](YamlView group) {
    group["instance_list"].ForEach(
        [&](YamlView instance) { AddServer(instance, instance["devices"], collector); });
  });
  return collector.Take(kNoHosts);
}

HostList HostsOfTfConfig(YamlView root, const std::string& file) {
  HostCollector collector(file);
  for (const char* kind : {"chief", "worker"}) {
    root["cluster"][kind].ForEach([&](YamlView host) {
      const std::string text = host.text();
      const size_t colon = text.rfind(':');
      HostEntry entry;
      entry.slots = 1;
      entry.counted = true;
      collector.AddWord(std::string_view(text).substr(0, colon), std::move(entry), PlaceIn(host));
    });
  }
  collector.Warn(file +
                 ": its ports are TensorFlow's and are not used; parameter servers are left out");
  return collector.Take(kNoHosts);
}

HostList HostsOfInventory(YamlView root, const std::string& file) {
  Inventory inventory(file);
  root.ForEachEntry(
      [&](const std::string& name, YamlView group) { AddGroup(group, name, 0, inventory); });
  return inventory.Take();
}

}  // namespace autodist::spec
