#include "health/links.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "health/small_files.h"

namespace autodist::health {
namespace {

struct Member {
  std::string name;
  uint64_t value;  // more is better
};

struct OddOne {
  std::string group;
  Member member;
  uint64_t usual;
};

// Finds the members of a group that are worse than nearly all others, for example the one slow link
// of eight: at least three quarters of a group, and three members, must have the usual value.
// Groups whose members differ on purpose have no majority.
std::vector<OddOne> FindOddOnes(const std::map<std::string, std::vector<Member>>& groups) {
  constexpr size_t kMinUsual = 3;
  std::vector<OddOne> odd;
  for (const auto& [group, members] : groups) {
    std::map<uint64_t, size_t> counts;
    for (const Member& member : members) ++counts[member.value];
    const auto usual =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    if (usual == counts.end() || usual->second < kMinUsual ||
        usual->second * 4 < members.size() * 3)
      continue;
    for (const Member& member : members) {
      if (member.value < usual->first) odd.push_back({group, member, usual->first});
    }
  }
  return odd;
}

constexpr char kSys[] = "/sys";
constexpr char kExamineLink[] = "have the cable, its transceivers and the switch port examined";

using Groups = std::map<std::string, std::vector<Member>>;

// A port without a cable stays in the state Polling; only a port among many that are used is a
// fault.
void FindInInfiniband(const std::string& root, std::vector<Fault>& faults) {
  const std::string devices = root + "/sys/class/infiniband/";
  Groups active;
  Groups rates;
  for (const std::string& device : NamesIn(devices)) {
    const std::string kind = LineOf(devices + device + "/board_id");
    for (const std::string& number : NamesIn(devices + device + "/ports")) {
      const std::string port = devices + device + "/ports/" + number;
      const std::string group = LineOf(port + "/link_layer") + " " + kind;
      const bool is_active = LineOf(port + "/state").starts_with("4:");
      const bool disabled = LineOf(port + "/phys_state").starts_with("3:");
      const std::string name = device + ":" + number;
      if (!disabled) active[group].push_back({name, is_active ? 1u : 0u});
      if (is_active) rates[group].push_back({name, NumberOf(port + "/rate").value_or(0)});
    }
  }
  for (const OddOne& port : FindOddOnes(active)) {
    faults.push_back({Severity::kWarning, "network port " + port.member.name,
                      "is down, unlike the others of that kind", kSys, kExamineLink});
  }
  for (const OddOne& port : FindOddOnes(rates)) {
    faults.push_back({Severity::kWarning, "network port " + port.member.name,
                      "runs at " + std::to_string(port.member.value) +
                          " Gb/s, the others of that kind at " + std::to_string(port.usual),
                      kSys, kExamineLink});
  }
}

void FindInEthernet(const std::string& root, std::vector<Fault>& faults) {
  const std::string interfaces = root + "/sys/class/net/";
  Groups speeds;
  for (const std::string& name : NamesIn(interfaces)) {
    const std::string folder = interfaces + name;
    if (access((folder + "/device").c_str(), F_OK) != 0) continue;  // virtual
    if (LineOf(folder + "/operstate") != "up") continue;
    if (LineOf(folder + "/duplex") == "half") {
      faults.push_back({Severity::kWarning, "interface " + name,
                        "sends or receives, but not both at once", kSys, kExamineLink});
    }
    const std::string kind =
        LineOf(folder + "/device/vendor") + ":" + LineOf(folder + "/device/device");
    if (const auto speed = NumberOf(folder + "/speed")) speeds[kind].push_back({name, *speed});
  }
  for (const OddOne& interface : FindOddOnes(speeds)) {
    faults.push_back({Severity::kWarning, "interface " + interface.member.name,
                      "runs at " + std::to_string(interface.member.value) +
                          " Mb/s, the others of that kind at " + std::to_string(interface.usual),
                      kSys, kExamineLink});
  }
}

// GPUs and network cards.
void FindInPci(const std::string& root, std::vector<Fault>& faults) {
  const std::string devices = root + "/sys/bus/pci/devices/";
  Groups widths;
  for (const std::string& address : NamesIn(devices)) {
    const std::string folder = devices + address;
    const std::string type = LineOf(folder + "/class");
    const bool counts = type.starts_with("0x0300") || type.starts_with("0x0302") ||
                        type.starts_with("0x0200") || type.starts_with("0x0207");
    if (!counts) continue;
    const auto lanes = NumberOf(folder + "/current_link_width");
    if (!lanes || *lanes == 0) continue;  // not PCIe, or its link is off
    widths[LineOf(folder + "/vendor") + ":" + LineOf(folder + "/device")].push_back(
        {address, *lanes});
  }
  for (const OddOne& device : FindOddOnes(widths)) {
    faults.push_back({Severity::kWarning, "PCI device " + device.member.name,
                      "uses " + std::to_string(device.member.value) +
                          " PCIe lanes, the others of that kind " + std::to_string(device.usual),
                      kSys, "have the device and its slot examined"});
  }
}

}  // namespace

std::vector<Fault> FindInLinks(const std::string& root) {
  std::vector<Fault> faults;
  FindInInfiniband(root, faults);
  FindInEthernet(root, faults);
  FindInPci(root, faults);
  return faults;
}

}  // namespace autodist::health
