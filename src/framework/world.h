// Helpers for frameworks: node addresses, environment steps, ports, auxiliary processes.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"

namespace autodist::framework {

// "10.0.0.1:4711", "[fd00::1]:4711".
std::string HostAndPort(const std::string& address, uint32_t port);

// The data address of rank 0's node.
const std::string& ChiefAddress(const v1::LaunchPlan& plan);

// The data addresses of all nodes, separated by commas.
std::string DataAddresses(const v1::LaunchPlan& plan);

void AddVariable(v1::RankPlan& process, const std::string& name, const std::string& value);

// Appends a step to the node's environment; the caller sets the value.
v1::SetVariable& AddStep(v1::NodePlan& node, const std::string& name);
// The same for a variable that keeps its value if it is set already.
v1::SetVariable& AddDefault(v1::NodePlan& node, const std::string& name);
// Removes a variable that an outer launcher left, before any variable is set.
void RemoveInherited(v1::NodePlan& node, const std::string& name);

// Otherwise gRPC connects to other nodes through the proxy of the user's shell (http_proxy), and
// hangs. Source of the name: doc/environment_variables.md of gRPC.
void KeepGrpcFromProxies(const Process& process, const SetVariable& set);

// Rejects IPv6 addresses, for a framework that splits addresses at the first colon.
Status CheckIpv4(const v1::LaunchPlan& plan, const std::string& framework);

// The variables of PyTorch's env:// initialization, for frameworks based on it.
void SetTorchVariables(const Process& process, const SetVariable& set);

bool PerDevice(const v1::LaunchPlan& plan);
bool OnGpus(const v1::NodePlan& node);

// The name for CUDA_VISIBLE_DEVICES: "3", or "GPU-8932f937-...".
std::string DeviceName(const v1::Device& device);

// "address:port" of each rank of the node, by local rank: where the rank listens.
std::vector<std::string> EndpointsOf(const v1::LaunchPlan& plan, const v1::NodePlan& node);

// "0", "0,1", ...: the numbers below `count`.
std::string CountUp(uint32_t count);

// Makes the agent of the chief's node check that the rendezvous port is free.
void ReserveMasterPort(v1::LaunchPlan& plan);

// Makes each agent check that the ports of the node's ranks are free.
void ReserveRankPorts(v1::LaunchPlan& plan);

// Adds a process that is not a rank to this node, with a unique number.
v1::RankPlan& AddAuxiliary(v1::LaunchPlan& plan, v1::NodePlan& node, const std::string& name);

}  // namespace autodist::framework
