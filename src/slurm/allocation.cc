#include "slurm/allocation.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/log.h"
#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "slurm/ended_job.h"
#include "slurm/hosts.h"

namespace autodist::slurm {
namespace {

constexpr char kGroup[] = "slurm";

std::optional<std::string> Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Steps can only use the nodes of one component.
std::optional<std::string> OfThisComponent(const std::string& name) {
  if (name == "SLURM_HET_SIZE" || name == "SLURM_PACK_SIZE") return std::nullopt;
  return Variable(name);
}

// The site's configuration, which is read once.
const Result<std::string>& Config() {
  static const Result<std::string> config = Scontrol({"config"});
  return config;
}

// Returns the ports on which nodes may reach this machine; Slurm's 0-0 means any.
base::PortRange SrunPorts(std::string_view config) {
  std::string_view text = SettingIn(config, "SrunPortRange");
  base::PortRange ports;
  ports.first = base::TakeNumber<uint16_t>(text).value_or(ports.first);
  if (base::TakePrefix(text, "-")) {
    ports.last = base::TakeNumber<uint16_t>(text).value_or(ports.last);
  }
  return ports;
}

std::vector<uint32_t> UpTo(size_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  return numbers;
}

// Returns a warning if Slurm's variables mention GPUs that its controller does not report.
std::string GpusNotFound(const spec::ResourceSpec& spec) {
  for (const char* name :
       {"SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS"}) {
    const std::string value = Variable(name).value_or("");
    if (value.empty() || value == "0") continue;
    const auto without =
        std::ranges::count_if(spec.nodes, [](const spec::Node& node) { return node.gpus.empty(); });
    if (without == 0) return "";
    return "`scontrol show job --details` names no GPU of " +
           base::Count(static_cast<size_t>(without), "node") + ", though " + name + " is '" +
           base::Printable(value) + "'";
  }
  return "";
}

}  // namespace

Result<spec::ResourceSpec> SlurmAllocation() {
  const std::string left_out = LeftOutComponents(Variable);
  if (!left_out.empty()) base::Log(base::LogLevel::kWarning, left_out);
  const spec::HostList list = SlurmHosts(OfThisComponent);
  if (!list.issues.empty()) {
    std::string all;
    for (const spec::Issue& issue : list.issues) {
      all += (all.empty() ? "" : "\n") + issue.ToString();
    }
    const bool outside = !Variable("SLURM_JOB_NODELIST");
    return WithRemedy(Error(StatusCode::kInvalidArgument, all),
                      outside ? "to queue a job for nodes: `autodist submit --slurm`" : "");
  }
  AD_ASSIGN_OR_RETURN(const std::string job, ScontrolJob());
  AD_ASSIGN_OR_RETURN(const std::string config, Config());
  const bool confined = SettingIn(config, "ConstrainDevices") == "yes";
  const auto gpus = SlurmGpus(job);
  spec::ResourceSpec spec;
  spec.ssh[kGroup].via = {"srun"};
  spec.ssh[kGroup].calls = spec::SshGroup::Calls{.ports = SrunPorts(config)};
  for (const spec::HostEntry& host : list.hosts) {
    spec::Node& node = spec.nodes.emplace_back();
    node.address = host.host;
    node.ssh_config = kGroup;
    if (const auto own = gpus.find(host.host); own != gpus.end()) {
      // If programs see only these, they are numbered from 0.
      node.gpus = confined ? UpTo(own->second.size()) : own->second;
    } else {
      node.cpus = UpTo(host.slots.value_or(1));
    }
  }
  spec.no_gpu = GpusNotFound(spec);
  return spec;
}

Result<std::chrono::seconds> SlurmKillWait() {
  AD_ASSIGN_OR_RETURN(const std::string config, Config());
  std::string_view text = SettingIn(config, "KillWait");  // "30 sec"
  if (const auto seconds = base::TakeNumber<int64_t>(text)) return std::chrono::seconds(*seconds);
  return Error(StatusCode::kNotFound, "`scontrol show config` has no KillWait");
}

std::optional<std::string> MungeSocketIn(std::string_view config) {
  if (SettingIn(config, "AuthType") != "auth/munge") return std::nullopt;
  constexpr std::string_view kSocket = "socket=";
  for (const std::string_view part : base::Split(SettingIn(config, "AuthInfo"), ',')) {
    if (part.starts_with(kSocket)) return std::string(part.substr(kSocket.size()));
  }
  return "";
}

Result<std::optional<std::string>> SlurmMunge() {
  AD_ASSIGN_OR_RETURN(const std::string config, Config());
  return MungeSocketIn(config);
}

}  // namespace autodist::slurm
