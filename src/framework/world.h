// What several frameworks share: addresses of nodes, environment steps, ports, auxiliary processes.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "framework/framework.h"

namespace autodist::framework {

// "10.0.0.1:4711", "[fd00::1]:4711".
std::string HostAndPort(const std::string& address, uint32_t port);

// Where rank 0 is, as other nodes reach it.
const std::string& ChiefAddress(const v1::LaunchPlan& plan);

// The data addresses of all nodes, with commas between.
std::string DataAddresses(const v1::LaunchPlan& plan);

void AddVariable(v1::RankPlan& process, const std::string& name, const std::string& value);

// A last step of the node's environment, which the caller gives a value.
v1::SetVariable& AddStep(v1::NodePlan& node, const std::string& name);
// The same, for a variable that the environment may have already, and then keeps.
v1::SetVariable& AddDefault(v1::NodePlan& node, const std::string& name);
// Among those that an outer launcher has left, before any variable is set.
void RemoveInherited(v1::NodePlan& node, const std::string& name);

// gRPC would ask a proxy of the user's shell (http_proxy) for the other nodes, and wait. Source
// of the name: doc/environment_variables.md of gRPC.
void KeepGrpcFromProxies(const Process& process, const SetVariable& set);

// Refuses IPv6 addresses, for a framework that splits what it is told at the first colon.
Status CheckIpv4(const v1::LaunchPlan& plan, const std::string& framework);

// What PyTorch's env:// initialisation reads, for frameworks that build on it.
void SetTorchVariables(const Process& process, const SetVariable& set);

bool PerDevice(const v1::LaunchPlan& plan);
bool OnGpus(const v1::NodePlan& node);

// As CUDA_VISIBLE_DEVICES names it: "3", or "GPU-8932f937-...".
std::string DeviceName(const v1::Device& device);

// "address:port" of each rank of the node, by local rank: where it listens itself.
std::vector<std::string> EndpointsOf(const v1::LaunchPlan& plan, const v1::NodePlan& node);

// "0", "0,1", ...: numbers below `count`.
std::string CountUp(uint32_t count);

// Has the agent of the chief's node check that the rendezvous port is free.
void ReserveMasterPort(v1::LaunchPlan& plan);

// Has each agent check that the ports at which its ranks listen are free.
void ReserveRankPorts(v1::LaunchPlan& plan);

// A process beside the ranks, on this node; its number is one that no other has.
v1::RankPlan& AddAuxiliary(v1::LaunchPlan& plan, v1::NodePlan& node, const std::string& name);

}  // namespace autodist::framework
