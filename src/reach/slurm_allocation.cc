#include "reach/slurm_allocation.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/quantity.h"
#include "base/split.h"
#include "plan/slurm_step.h"
#include "spec/scalars.h"
#include "spec/slurm_hosts.h"
#include "transport/exec.h"
#include "transport/local.h"

namespace autodist::reach {
namespace {

constexpr std::chrono::seconds kStepLimit{60};
constexpr std::chrono::seconds kConfigLimit{10};
constexpr size_t kMostOfStep = 4 << 20;  // bytes
constexpr char kGroup[] = "slurm";

// Whatever the login shell of the nodes prints, these lines are ours.
constexpr char kMark[] = "AUTODIST-NODE ";
constexpr char kTell[] =
    "printf '\\nAUTODIST-NODE %s %s\\n' \"$SLURMD_NODENAME\" \"${CUDA_VISIBLE_DEVICES:--}\"";

std::optional<std::string> Variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<std::string> RunStep(size_t nodes) {
  std::vector<std::string> words = plan::SlurmStepWords(nodes);
  words.insert(words.end(), {"--input=none", "sh", "-c", kTell});
  AD_ASSIGN_OR_RETURN(const auto step, transport::StartProgram(words));
  const base::Deadline deadline = base::Deadline::After(kStepLimit);
  auto output = transport::OutputOf(*step, deadline, kMostOfStep);
  AD_RETURN_IF_ERROR(Annotate(transport::ExecError(step->StderrTail()), "asking the nodes"));
  return output;
}

// {node: "0,1", "-" without any}.
std::map<std::string, std::string> DevicesTold(const std::string& output) {
  std::map<std::string, std::string> told;
  for (std::string_view line : base::Lines(output)) {
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(sizeof kMark - 1);
    const auto words = base::Split(line.substr(0, line.find('\r')), ' ');
    if (words.size() == 2) told.emplace(words[0], words[1]);
  }
  return told;
}

Result<std::vector<uint32_t>> NumbersOf(const std::string& devices, const std::string& node) {
  std::vector<uint32_t> numbers;
  for (const std::string_view word : base::Split(devices, ',')) {
    const auto number = spec::ReadWholeNumber(word, spec::kMostSlots - 1);
    if (!number) {
      return WithRemedy(Error(StatusCode::kUnimplemented,
                              "on " + node + " Slurm gives CUDA_VISIBLE_DEVICES=" + devices +
                                  ", which is no list of numbers"),
                        "a spec can say which devices to use: autodist init --slurm writes one");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

Result<spec::ResourceSpec> SlurmAllocation() {
  const spec::HostList list = spec::SlurmHosts(Variable);
  if (!list.problems.empty()) {
    std::string all;
    for (const spec::Problem& problem : list.problems) {
      all += (all.empty() ? "" : "\n") + problem.ToString();
    }
    return Error(StatusCode::kInvalidArgument, all);
  }
  AD_ASSIGN_OR_RETURN(const std::string output, RunStep(list.hosts.size()));
  const auto told = DevicesTold(output);
  spec::ResourceSpec spec;
  spec.ssh[kGroup].via = {"srun"};
  for (const spec::HostEntry& host : list.hosts) {
    const auto devices = told.find(host.host);
    if (devices == told.end()) {
      return WithRemedy(Error(StatusCode::kUnavailable, host.host + " did not answer a step"),
                        "does `srun --overlap hostname` tell all nodes of this allocation?");
    }
    spec::Node& node = spec.nodes.emplace_back();
    node.address = host.host;
    node.ssh_config = kGroup;
    if (devices->second != "-") {
      AD_ASSIGN_OR_RETURN(node.gpus, NumbersOf(devices->second, host.host));
    } else {
      node.cpus.resize(host.slots.value_or(1));
      std::iota(node.cpus.begin(), node.cpus.end(), 0U);
    }
  }
  return spec;
}

Result<std::chrono::seconds> SlurmKillWait() {
  AD_ASSIGN_OR_RETURN(const auto program, transport::StartProgram({"scontrol", "show", "config"}));
  AD_ASSIGN_OR_RETURN(
      const std::string output,
      transport::OutputOf(*program, base::Deadline::After(kConfigLimit), kMostOfStep));
  // "KillWait                = 30 sec"
  for (const std::string_view line : base::Lines(output)) {
    if (!line.starts_with("KillWait ")) continue;
    const size_t number = line.find_first_of("0123456789");
    int64_t seconds = 0;
    if (number != std::string_view::npos) {
      std::from_chars(line.data() + number, line.data() + line.size(), seconds);
      return std::chrono::seconds(seconds);
    }
  }
  return Error(StatusCode::kNotFound, "`scontrol show config` tells no KillWait");
}

}  // namespace autodist::reach
