#include "kubernetes/pods.h"

#include <absl/strings/numbers.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <numeric>

#include "base/fd.h"
#include "reach/resolve.h"
#include "transfer/node_program.h"

namespace autodist::kubernetes {
namespace {

constexpr char kGroupOfPods[] = "kubernetes";
constexpr std::chrono::minutes kCallLimit{30};  // to schedule pods and pull images
constexpr char kPrefix[] = "AUTODIST_KUBERNETES_";
constexpr char kIndex[] = "JOB_COMPLETION_INDEX";  // set by the pod's Job

std::string PodVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

// At least `least`; `otherwise` if the variable is not set.
Result<uint32_t> Number(const std::string& name, uint32_t least, uint32_t otherwise) {
  const std::string text = PodVariable(name);
  uint32_t number = otherwise;
  if (text.empty() || (absl::SimpleAtoi(text, &number) && number >= least)) return number;
  return Error(
      StatusCode::kInvalidArgument,
      name + " is '" + text + "'; it should be a whole number from " + std::to_string(least));
}

}  // namespace

Result<KubernetesPod> ThisPod() {
  KubernetesPod pod;
  const std::string role = PodVariable(std::string(kPrefix) + "ROLE");
  pod.chief_address = PodVariable(std::string(kPrefix) + "CHIEF");
  const size_t colon = pod.chief_address.rfind(':');
  constexpr uint32_t kMaxPort = 65'535;
  uint32_t port = 0;
  const bool has_port =
      colon != std::string::npos && absl::SimpleAtoi(pod.chief_address.substr(colon + 1), &port);
  if (role.empty() || pod.chief_address.empty()) {
    return WithRemedy(
        Error(StatusCode::kInvalidArgument,
              "this is not a pod of an autodist job: " + std::string(kPrefix) +
                  (role.empty() ? "ROLE" : "CHIEF") + " is not set"),
        "start it by `autodist submit --kubernetes`, which runs autodist in the pods");
  }
  if (!has_port || port == 0 || port > kMaxPort) {
    return Error(StatusCode::kInvalidArgument,
                 std::string(kPrefix) + "CHIEF is '" + pod.chief_address + "', " +
                     (has_port ? "whose port is not from 1 to " + std::to_string(kMaxPort)
                               : "which is not HOST:PORT"));
  }
  pod.port = static_cast<uint16_t>(port);
  pod.chief = role == kChief;
  AD_ASSIGN_OR_RETURN(pod.nodes, Number(std::string(kPrefix) + "NODES", 1, 1));
  AD_ASSIGN_OR_RETURN(pod.gpus, Number(std::string(kPrefix) + "GPUS", 0, 0));
  AD_ASSIGN_OR_RETURN(pod.ranks, Number(std::string(kPrefix) + "RANKS", 1, 1));
  AD_ASSIGN_OR_RETURN(const uint32_t index, Number(kIndex, 0, 0));
  pod.node = pod.chief ? kChief : role + "-" + std::to_string(index);
  return pod;
}

Result<spec::ResourceSpec> KubernetesPods(const KubernetesPod& chief) {
  spec::ResourceSpec spec;
  for (uint32_t number = 0; number < chief.nodes; ++number) {
    spec::Node& node = spec.nodes.emplace_back();
    node.chief = number == 0;
    node.address = node.chief ? chief.node : "worker-" + std::to_string(number - 1);
    auto& devices = chief.gpus > 0 ? node.gpus : node.cpus;
    devices.resize(chief.gpus > 0 ? chief.gpus : chief.ranks);
    std::iota(devices.begin(), devices.end(), 0U);
    if (node.chief) {
      AD_ASSIGN_OR_RETURN(node.data_address, reach::OutwardAddress());
    } else {
      node.ssh_config = kGroupOfPods;
    }
  }
  if (chief.nodes > 1) {
    spec::SshGroup& group = spec.ssh[kGroupOfPods];
    group.via = {"connect-back"};
    group.calls = {{chief.port, chief.port}, kKeyFile, kCallLimit};
  }
  return spec;
}

Status BecomeCallbackClient(const KubernetesPod& pod, const std::string& agent_path,
                            std::chrono::seconds patience) {
  AD_ASSIGN_OR_RETURN(transfer::NodeProgram agent, transfer::NodeProgram::OfAgent(agent_path));
  AD_ASSIGN_OR_RETURN(const std::string program, agent.PathHere());
  const base::UniqueFd key(open(kKeyFile, O_RDONLY | O_CLOEXEC));
  if (!key.valid() || dup2(key.get(), STDIN_FILENO) < 0) {
    return WithRemedy(
        ErrnoError(errno, std::string("the job's key, ") + kKeyFile),
        "mount the key from the job's Secret there, as the manifest of `autodist submit` does");
  }
  execl(program.c_str(), "autodist-agent", "connect-back", pod.node.c_str(),
        std::to_string(patience.count()).c_str(), pod.chief_address.c_str(), nullptr);
  return ErrnoError(errno, program);
}

}  // namespace autodist::kubernetes
