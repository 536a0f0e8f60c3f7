// Ascend's rank table, version 1.0, as read by MindSpore. Source of the format: hccl_tools.py and
// merge_hccl.py of MindSpore's models; of the rules for devices: MindOCR's document on distributed
// training. The devices are the spec's gpus.
#include <absl/strings/str_join.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/for_user.h"
#include "framework/world.h"

namespace autodist::framework {
namespace {

constexpr int kDevicesOfServer = 8;
constexpr uint32_t kDevicesOfNetwork = 4;  // devices 0 to 3 and 4 to 7 are on separate networks

std::string Numbers(const v1::NodePlan& node, const char* between) {
  return absl::StrJoin(node.devices(), between, [](std::string* text, const v1::Device& device) {
    *text += std::to_string(device.index());
  });
}

// The error in the node's devices; "": valid.
std::string WrongWith(const v1::NodePlan& node, bool alone) {
  if (!OnGpus(node)) return "has no devices; list the NPU numbers under 'gpus'";
  for (const v1::Device& device : node.devices()) {
    if (!device.uuid().empty()) return "has the device " + device.uuid() + "; NPUs have numbers";
  }
  const std::string devices = "has the devices " + Numbers(node, ", ");
  const auto index = [](const v1::Device& device) { return device.index(); };
  const auto [least, most] = std::ranges::minmax(node.devices(), {}, index);
  const int count = node.devices_size();
  if (most.index() >= kDevicesOfServer) return devices + "; they are numbered from 0 to 7";
  if (!alone && count != kDevicesOfServer) return devices + "; of several nodes, all 8 are needed";
  if (count != 1 && count != 2 && count != 4 && count != kDevicesOfServer) {
    return devices + "; 1, 2, 4 or 8 can be used together";
  }
  if (count < kDevicesOfServer &&
      least.index() / kDevicesOfNetwork != most.index() / kDevicesOfNetwork) {
    return devices + "; 0 to 3 are on one network and 4 to 7 on another: take them from one";
  }
  return "";
}

// The unknown facts about valid devices; "": complete.
std::string MissingFrom(const v1::NodePlan& node) {
  for (const v1::Device& device : node.devices()) {
    if (!device.ip().empty()) continue;
    return "does not report the IP address of device " + std::to_string(device.index()) +
           base::ForUser(
               ": hccn_tool[spec|, /etc/hccn.conf and device_ips in the spec]"
               "[hosts,allocation,here| and /etc/hccn.conf] lack it");
  }
  return "";
}

Status CheckRankTable(const v1::LaunchPlan& plan) {
  std::vector<std::string> issues;
  bool missing = false;
  for (const v1::NodePlan& node : plan.nodes()) {
    std::string wrong = WrongWith(node, plan.nodes_size() == 1);
    if (wrong.empty()) {
      wrong = MissingFrom(node);
      missing |= !wrong.empty();
    }
    if (!wrong.empty()) issues.push_back(node.address() + " " + wrong);
  }
  if (issues.empty()) return OkStatus();
  const Status refused = Error(StatusCode::kInvalidArgument, absl::StrJoin(issues, "\n"));
  return missing ? WithRemedy(
                       refused,
                       base::ForUser("[spec|give the addresses of the node's devices as device_ips "
                                     "in the spec][hosts|write a spec with `autodist init`, and "
                                     "give the addresses of the node's devices there]"))
                 : refused;
}

std::string RankTable(const v1::LaunchPlan& plan) {
  nlohmann::ordered_json servers = nlohmann::ordered_json::array();
  uint32_t rank = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const v1::Device& device : node.devices()) {
      devices.push_back({{"device_id", std::to_string(device.index())},
                         {"device_ip", device.ip()},
                         {"rank_id", std::to_string(rank++)}});
    }
    servers.push_back({{"server_id", node.data_address()},
                       {"device", std::move(devices)},
                       {"host_nic_ip", "reserve"}});
  }
  const nlohmann::ordered_json table = {{"version", "1.0"},
                                        {"server_count", std::to_string(plan.nodes_size())},
                                        {"server_list", std::move(servers)},
                                        {"status", "completed"}};
  return table.dump(4) + "\n";
}

std::string NameOf(const v1::LaunchPlan& plan) {
  if (plan.nodes_size() > 1) {
    return "hccl_" + std::to_string(plan.nodes_size()) + "s_" + std::to_string(plan.world_size()) +
           "p.json";
  }
  const v1::NodePlan& node = plan.nodes(0);
  return "hccl_" + std::to_string(node.devices_size()) + "p_" + Numbers(node, "") + "_" +
         node.data_address() + ".json";
}

void SetRankTableVariables(const Process& process, const SetVariable& set) {
  set("RANK_ID", std::to_string(process.rank.rank()));
  set("RANK_SIZE", std::to_string(process.plan.world_size()));
  set("DEVICE_ID", std::to_string(process.rank.device().index()));
  set("DEVICE_NUM", std::to_string(process.node.devices_size()));
}

void ExtendRankTable(v1::LaunchPlan& plan) {
  const std::string name = NameOf(plan);
  const std::string table = RankTable(plan);
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    v1::PlannedFile& file = *node.add_files();
    file.set_name(name);
    file.set_content(table);
    AddStep(node, "RANK_TABLE_FILE").set_on_node("{files}/" + name);
  }
}

}  // namespace

const Framework kRanktable = {
    "ranktable",
    "MindSpore on Ascend, by a rank table written on every node",
    {v1::PROGRAM_KIND_PER_DEVICE},
    /*uses_master_port=*/false,
    SetRankTableVariables,
    CheckRankTable,
    ExtendRankTable,
};

}  // namespace autodist::framework
