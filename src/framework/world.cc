#include "framework/world.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <numeric>

#include "base/for_user.h"

namespace autodist::framework {

std::string HostAndPort(const std::string& address, uint32_t port) {
  const bool v6 = address.find(':') != std::string::npos;
  return (v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

const std::string& ChiefAddress(const v1::LaunchPlan& plan) { return plan.nodes(0).data_address(); }

std::string DataAddresses(const v1::LaunchPlan& plan) {
  return absl::StrJoin(plan.nodes(), ",", [](std::string* text, const v1::NodePlan& node) {
    *text += node.data_address();
  });
}

void AddVariable(v1::RankPlan& process, const std::string& name, const std::string& value) {
  v1::EnvironmentVariable& variable = *process.add_environment();
  variable.set_name(name);
  variable.set_value(value);
}

v1::SetVariable& AddStep(v1::NodePlan& node, const std::string& name) {
  v1::SetVariable& variable = *node.add_environment()->mutable_set();
  variable.set_name(name);
  return variable;
}

v1::SetVariable& AddDefault(v1::NodePlan& node, const std::string& name) {
  v1::SetVariable& variable = AddStep(node, name);
  variable.add_unless(name);
  return variable;
}

void RemoveInherited(v1::NodePlan& node, const std::string& name) {
  const auto step =
      std::ranges::find_if(*node.mutable_environment(), &v1::EnvironmentStep::has_remove);
  step->mutable_remove()->add_names(name);
}

void KeepGrpcFromProxies(const Process& process, const SetVariable& set) {
  set("no_grpc_proxy", DataAddresses(process.plan));
}

Status CheckIpv4(const v1::LaunchPlan& plan, const std::string& framework) {
  std::vector<std::string> v6;
  for (const v1::NodePlan& node : plan.nodes()) {
    if (node.data_address().find(':') != std::string::npos) v6.push_back(node.data_address());
  }
  if (v6.empty()) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            framework + " cannot use IPv6 addresses: " + absl::StrJoin(v6, ",")),
      base::ForUser(v6.size() == 1 ? "[spec|give this node an IPv4 data_address in the "
                                     "spec][hosts|give its IPv4 address]"
                                   : "[spec|give each of these nodes an IPv4 data_address in the "
                                     "spec][hosts|give their IPv4 addresses]"));
}

std::string DeviceName(const v1::Device& device) {
  return device.uuid().empty() ? std::to_string(device.index()) : device.uuid();
}

bool PerDevice(const v1::LaunchPlan& plan) {
  return plan.program_kind() == v1::PROGRAM_KIND_PER_DEVICE;
}

bool OnGpus(const v1::NodePlan& node) {
  return node.devices_size() > 0 && node.devices(0).kind() == v1::DEVICE_KIND_GPU;
}

std::vector<std::string> EndpointsOf(const v1::LaunchPlan& plan, const v1::NodePlan& node) {
  std::vector<std::string> endpoints;
  for (uint32_t i = 0; i < static_cast<uint32_t>(node.devices_size()); ++i) {
    endpoints.push_back(HostAndPort(node.data_address(), plan.rank_port() + i));
  }
  return endpoints;
}

std::string CountUp(uint32_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return absl::StrJoin(numbers, ",");
}

void ReserveMasterPort(v1::LaunchPlan& plan) {
  plan.mutable_nodes(0)->add_ports(plan.master_port());
}

void ReserveRankPorts(v1::LaunchPlan& plan) {
  for (v1::NodePlan& node : *plan.mutable_nodes()) {
    for (uint32_t i = 0; i < static_cast<uint32_t>(node.devices_size()); ++i) {
      node.add_ports(plan.rank_port() + i);
    }
  }
}

v1::RankPlan& AddAuxiliary(v1::LaunchPlan& plan, v1::NodePlan& node, const std::string& name) {
  uint32_t next = 0;
  for (const v1::NodePlan& other : plan.nodes()) {
    for (const v1::RankPlan& process : other.ranks()) next = std::max(next, process.rank() + 1);
  }
  v1::RankPlan& process = *node.add_ranks();
  process.set_rank(next);
  process.set_name(name);
  process.set_auxiliary(true);
  return process;
}

}  // namespace autodist::framework
