#include "reach/device_ips.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/for_user.h"
#include "base/ip_address.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/split.h"
#include "reach/connector_factory.h"
#include "reach/login_script.h"
#include "scripts/scripts.h"

namespace autodist::reach {
namespace {

constexpr size_t kMaxMachine = 300;  // bytes
constexpr std::string_view kMarker = "\nAUTODIST-DEVICES ";

constexpr size_t kAskedTogether = 64;
constexpr std::string_view kBegin = "\nAUTODIST-DEVICE-IPS\n";
constexpr std::string_view kEnd = "AUTODIST-END\n";

bool IsSilent(const spec::Node& node) { return !node.gpus.empty() && node.device_ips.empty(); }

// Returns how the nodes are reached, by their address as the spec writes it. Fails if the plan is
// invalid independently of the addresses of the devices.
Result<std::map<std::string, v1::Reach>> WaysTo(const plan::Input& input) {
  plan::Input with_ips = input;
  for (spec::Node& node : with_ips.spec.nodes) {
    if (IsSilent(node)) node.device_ips.assign(node.gpus.size(), "0.0.0.0");
  }
  AD_ASSIGN_OR_RETURN(const v1::LaunchPlan plan, plan::MakePlan(with_ips));
  std::map<std::string, v1::Reach> ways;
  for (const v1::NodePlan& node : plan.nodes()) {
    v1::Reach& way = ways[node.address()] = node.reach();
    if (!way.has_callback()) continue;
    const auto limit = static_cast<uint32_t>(std::chrono::milliseconds(kAskLimit).count());
    way.mutable_callback()->set_limit_ms(std::min(way.callback().limit_ms(), limit));
  }
  return ways;
}

}  // namespace

Result<Devices> ReadDevices(std::string_view output, std::chrono::seconds limit) {
  const size_t marker = output.rfind(kMarker);
  const size_t last = output.rfind(kEnd);
  if (marker == output.npos || last == output.npos || last < marker) {
    return Error(StatusCode::kNotFound, "no answer");
  }
  const size_t begin = marker + kMarker.size();
  const std::string_view answer = output.substr(begin, last - begin);
  std::string_view line = base::FirstLine(answer);
  const std::string_view printed = answer.substr(std::min(line.size() + 1, answer.size()));
  std::array<uint32_t, 6> numbers{};
  for (uint32_t& one : numbers) {
    const auto number = base::TakeNumber<uint32_t>(line);
    if (!number || (!line.empty() && !base::TakePrefix(line, " "))) {
      return Error(StatusCode::kInternal, "the answer about the devices is invalid");
    }
    one = *number;
  }
  const auto [driver, files, on_bus, others, status, cpus] = numbers;
  Devices devices{
      CountGpus({driver, files, on_bus > 0, others > 0, status, std::string(printed)}, limit),
      cpus};
  // With a missing part it would not be unique.
  const size_t slash = line.find('/');
  const bool whole = slash != std::string_view::npos && slash > 0 && slash + 1 < line.size();
  if (whole && line.size() <= kMaxMachine) devices.machine = line;
  return devices;
}

Result<Devices> AskDevices(transport::Transport& transport, LoginRetryBudget& servers,
                           std::chrono::milliseconds limit) {
  const std::chrono::seconds listing = ListingLimit(limit);
  return RunLoginScript<Devices>(
      transport,
      {"/bin/sh", "-c", scripts::Script({"devices"}), "sh", std::to_string(listing.count())},
      [listing](std::string_view output) { return ReadDevices(output, listing); }, limit, servers);
}

Result<std::vector<std::string>> ReadDeviceIps(std::string_view output, size_t devices) {
  const size_t begin = output.rfind(kBegin);
  if (begin == std::string_view::npos) return Error(StatusCode::kNotFound, "no answer");
  std::string_view lines = output.substr(begin + kBegin.size());
  const size_t end = lines.rfind(kEnd);
  if (end == std::string_view::npos) return Error(StatusCode::kNotFound, "no answer");
  std::vector<std::string> ips;
  for (const std::string_view line : base::Split(lines.substr(0, end), '\n')) {
    const auto ip = base::IpAddress::Parse(std::string(line));
    ips.push_back(ip && !ip->v6 ? ip->ToString() : "");
  }
  ips.pop_back();  // behind the last line feed
  if (ips.size() == devices) return ips;
  return Error(StatusCode::kInternal, "the answer is invalid");
}

Result<std::vector<std::string>> AskDeviceIps(transport::Transport& transport,
                                              const std::vector<uint32_t>& devices,
                                              LoginRetryBudget& servers,
                                              std::chrono::milliseconds limit) {
  std::vector<std::string> argv = {"/bin/sh", "-c", scripts::Script({"device_ips"}), "sh"};
  for (const uint32_t device : devices) argv.push_back(std::to_string(device));
  return RunLoginScript<std::vector<std::string>>(
      transport, argv,
      [&](std::string_view output) { return ReadDeviceIps(output, devices.size()); }, limit,
      servers);
}

Status AskForDeviceIps(plan::Input& input) {
  std::vector<spec::Node*> silent;
  for (spec::Node& node : input.spec.nodes) {
    if (IsSilent(node)) silent.push_back(&node);
  }
  if (silent.empty()) return OkStatus();
  AD_ASSIGN_OR_RETURN(const auto ways, WaysTo(input));
  ConnectorFactory logins;
  for (const spec::Node* node : silent) logins.Prepare(ways.at(node->address));
  AD_ASSIGN_OR_RETURN(const auto loop, ssh::SshLoop::Create());

  LoginRetryBudget servers;
  std::mutex mutex;
  std::string issues;
  bool answer_missing = false;
  base::ParallelFor(silent.size(), kAskedTogether, [&](size_t i) {
    spec::Node& node = *silent[i];
    const auto transport = logins.TransportTo(ways.at(node.address), *loop);
    auto ips = transport.ok() ? AskDeviceIps(**transport, node.gpus, servers, kAskLimit)
                              : transport.status();
    if (ips.ok()) {
      node.device_ips = *std::move(ips);
      return;
    }
    const std::lock_guard lock(mutex);
    issues += (issues.empty() ? "" : "\n") + node.address + ": " + base::FailureText(ips.status());
    answer_missing |= ips.status().code() == StatusCode::kInternal;
  });
  if (issues.empty()) return OkStatus();
  const Status failure =
      Error(StatusCode::kUnavailable, "asking for the addresses of the nodes' devices:\n" + issues);
  // A failed login would fail again when the job is started.
  return answer_missing
             ? WithRemedy(failure,
                          base::ForUser("[spec|give them as device_ips in the spec][hosts|write a "
                                        "spec with `autodist init`, and give them there]"))
             : failure;
}

}  // namespace autodist::reach
