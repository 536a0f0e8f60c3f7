#include "cli/device_ips.h"

#include <mutex>

#include "base/parallel.h"
#include "reach/ask_device_ips.h"
#include "reach/ask_devices.h"
#include "reach/logins.h"
#include "transport/ask_passphrase.h"

namespace autodist::cli {
namespace {

constexpr size_t kAskedTogether = 64;

// How the nodes are reached, by their address as the spec writes it.
Result<std::map<std::string, v1::Reach>> WaysTo(const plan::Input& input) {
  plan::Input looking = input;
  looking.command.clear();
  looking.dialects.clear();
  AD_ASSIGN_OR_RETURN(const v1::LaunchPlan plan, plan::MakePlan(looking));
  std::map<std::string, v1::Reach> ways;
  for (const v1::NodePlan& node : plan.nodes()) ways[node.address()] = node.reach();
  return ways;
}

}  // namespace

Status AskForDeviceIps(plan::Input& input) {
  std::vector<spec::Node*> silent;
  for (spec::Node& node : input.spec.nodes) {
    if (!node.gpus.empty() && node.device_ips.empty()) silent.push_back(&node);
  }
  if (silent.empty()) return OkStatus();
  AD_ASSIGN_OR_RETURN(const auto ways, WaysTo(input));
  reach::Logins logins(transport::AskPassphraseOnTerminal);
  for (const spec::Node* node : silent) logins.Prepare(ways.at(node->address));
  AD_ASSIGN_OR_RETURN(const auto loop, transport::SshLoop::Create());

  std::mutex mutex;
  std::string problems;
  base::ParallelFor(silent.size(), kAskedTogether, [&](size_t i) {
    spec::Node& node = *silent[i];
    const auto transport = logins.TransportTo(ways.at(node.address), *loop);
    auto ips = transport.ok() ? reach::AskDeviceIps(**transport, node.gpus, reach::kAskLimit)
                              : transport.status();
    if (ips.ok()) {
      node.device_ips = *std::move(ips);
      return;
    }
    const std::lock_guard lock(mutex);
    problems += (problems.empty() ? "" : "\n") + node.address + ": " + Message(ips.status());
  });
  if (problems.empty()) return OkStatus();
  return WithRemedy(Error(StatusCode::kUnavailable,
                          "asking for the addresses of the nodes' devices:\n" + problems),
                    "give them as device_ips in the spec");
}

}  // namespace autodist::cli
