// What can be said of a node by looking at it alone.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/quantity.h"
#include "diagnosis/collective_variables.h"
#include "diagnosis/findings.h"

namespace autodist::diagnosis {
namespace {

constexpr uint64_t kLittleDisk = 1024 * kMiB;
constexpr uint64_t kNoDisk = 16 * kMiB;
constexpr uint64_t kLittleSharedMemory = 64 * kMiB;  // what containers get by default
constexpr int64_t kMostClockOffset = 1'000'000'000;  // ns

std::string Interfaces(const v1::NodeFacts& facts) {
  std::string text;
  for (const v1::InterfaceFact& interface : facts.interfaces()) {
    const auto ip = base::IpAddress::Parse(interface.address());
    if (ip && ip->IsLoopback()) continue;
    text += (text.empty() ? "" : ", ") + interface.address() + " (" + interface.name() + ")";
  }
  return text.empty() ? "none" : text;
}

// Whether --sync would bring the program: a path of the working directory, not one that PATH has.
bool IsSynced(const Evidence& evidence) {
  const auto& ranks = evidence.plan->nodes(0).ranks();
  const std::string program = ranks.empty() || ranks[0].argv().empty() ? "" : ranks[0].argv(0);
  if (program.starts_with('/')) {
    return program.starts_with(evidence.plan->working_directory() + "/");
  }
  return program.find('/') != std::string::npos && !program.starts_with("../");
}

// Whether the working directory and its program are on the machine that autodist runs on; of the
// program, as far as is known.
bool IsHere(const Evidence& evidence) {
  const NodeEvidence& chief = evidence.nodes.front();
  return !TakesPart(*evidence.plan) || (chief.reached.ok() && chief.prepared.problems().empty());
}

// What the agent says, and besides what it cannot know: that the chief has what this node lacks.
std::string RemedyOf(const Evidence& evidence, const v1::Problem& problem) {
  const bool folder = problem.kind() == v1::PROBLEM_KIND_WORKING_DIRECTORY;
  const bool program = problem.kind() == v1::PROBLEM_KIND_COMMAND_NOT_FOUND && IsSynced(evidence);
  if (!(folder || program) || !IsHere(evidence)) return problem.remedy();
  if (program) return CopyRemedy(evidence, "it");
  return evidence.synced
             ? problem.remedy()
             : "run with --sync, which copies " + Here(evidence) + "'s, or " + problem.remedy();
}

}  // namespace

bool TakesPart(const v1::LaunchPlan& plan) { return plan.nodes(0).reach().has_local(); }

bool HasDataAddress(const v1::NodePlan& plan, const v1::NodeFacts& facts) {
  auto wanted = base::IpAddress::Parse(plan.data_address());
  if (!wanted) return false;
  wanted->scope.clear();
  return wanted->IsLoopback() ||
         std::ranges::any_of(facts.interfaces(), [&](const v1::InterfaceFact& interface) {
           auto ip = base::IpAddress::Parse(interface.address());
           if (ip) ip->scope.clear();
           return ip == wanted;
         });
}

void CheckLogins(const Evidence& evidence, Findings& findings) {
  for (uint32_t node = 0; node < evidence.nodes.size(); ++node) {
    const Status& reached = evidence.nodes[node].reached;
    findings.Checked(v1::CHECK_LOGIN, node);
    if (!reached.ok()) findings.Bad(v1::CHECK_LOGIN, node, Message(reached), Remedy(reached));
  }
}

void CheckAddresses(const Evidence& evidence, Findings& findings) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeFacts& facts = FactsOf(evidence, node);
    const v1::NodePlan& plan = PlanOf(evidence, node);
    findings.Checked(v1::CHECK_ADDRESS, node);
    if (facts.interfaces().empty()) continue;
    if (!plan.ask_data_address() && !HasDataAddress(plan, facts)) {
      findings.Bad(v1::CHECK_ADDRESS, node,
                   "no interface of this node has the address " + plan.data_address() +
                       ", under which the other ranks are to reach it; it has " + Interfaces(facts),
                   "correct the address in the spec, or name the one that the ranks shall use as "
                   "data_address");
    }
    if (!plan.interface().empty() &&
        std::ranges::none_of(facts.interfaces(), [&](const v1::InterfaceFact& interface) {
          return interface.name() == plan.interface();
        })) {
      findings.Bad(
          v1::CHECK_ADDRESS, node,
          "there is no interface " + plan.interface() + "; this node has " + Interfaces(facts),
          "correct `interface` in the spec");
    }
  }
}

void CheckPrepared(const Evidence& evidence, Findings& findings) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::PrepareResponse& prepared = evidence.nodes[node].prepared;
    findings.Checked(v1::CHECK_FOLDER, node);
    if (std::ranges::any_of(PlanOf(evidence, node).environment(),
                            &v1::EnvironmentStep::has_activate)) {
      findings.Checked(v1::CHECK_ACTIVATION, node);
    }
    bool activation_failed = false;
    for (const v1::Problem& problem : prepared.problems()) {
      v1::Check check = v1::CHECK_PROGRAM;
      if (problem.kind() == v1::PROBLEM_KIND_WORKING_DIRECTORY) check = v1::CHECK_FOLDER;
      if (problem.kind() == v1::PROBLEM_KIND_ACTIVATION) check = v1::CHECK_ACTIVATION;
      activation_failed |= check == v1::CHECK_ACTIVATION;
      findings.Bad(check, node, problem.cause(), RemedyOf(evidence, problem));
    }
    // Where the program is depends on the activation.
    const auto& ranks = PlanOf(evidence, node).ranks();
    if (!ranks.empty() && ranks[0].argv_size() > 0 && !activation_failed) {
      findings.Checked(v1::CHECK_PROGRAM, node);
    }
  }
}

void CheckGpus(const Evidence& evidence, Findings& findings) {
  if (!evidence.examination.thorough()) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeFacts& facts = FactsOf(evidence, node);
    for (const v1::RankPlan& rank : PlanOf(evidence, node).ranks()) {
      if (rank.device().kind() != v1::DEVICE_KIND_GPU) continue;
      const uint32_t index = rank.device().index();
      const std::string name = "GPU " + std::to_string(index);
      findings.Checked(v1::CHECK_GPUS, node);
      const auto gpu = std::ranges::find_if(
          facts.gpus(), [&](const v1::GpuFact& present) { return present.index() == index; });
      if (gpu == facts.gpus().end()) {
        findings.Bad(
            v1::CHECK_GPUS, node,
            name + " of the spec is not there: " +
                (facts.gpu_error().empty()
                     ? "this node has " + base::Count(static_cast<size_t>(facts.gpus_size()), "GPU")
                     : facts.gpu_error()),
            "correct `gpus` in the spec, or look why the driver does not show it "
            "(nvidia-smi -L, dmesg)");
      }
    }
  }
}

void CheckDisks(const Evidence& evidence, Findings& findings) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeFacts& facts = FactsOf(evidence, node);
    const v1::DiskFact& work = facts.working_directory();
    const std::string& folder = evidence.plan->working_directory();
    if (work.size() > 0) {
      findings.Checked(v1::CHECK_DISK, node);
      if (!work.error().empty()) {
        findings.Warn(v1::CHECK_DISK, node, "the working directory " + folder + ": " + work.error(),
                      "programs that write there, checkpoints say, will fail");
      } else if (work.free() < kNoDisk) {
        findings.Bad(v1::CHECK_DISK, node,
                     "the disk with " + folder + " is full: " + MiB(work.free()) + " free",
                     "make room");
      } else if (work.free() < kLittleDisk) {
        findings.Warn(v1::CHECK_DISK, node,
                      "the disk with " + folder + " is nearly full: " + MiB(work.free()) + " free",
                      "make room");
      }
    }
    const v1::DiskFact& memory = facts.shared_memory();
    if (memory.size() > 0 && memory.size() <= kLittleSharedMemory) {
      findings.Warn(
          v1::CHECK_DISK, node,
          "/dev/shm has " + MiB(memory.size()) + "; data loaders with several workers need more",
          "mount it larger; of a container, start it with --shm-size or --ipc=host");
    }
  }
}

void CheckLimits(const Evidence& evidence, Findings& findings) {
  // A socket to each other rank, some more per process, and what the program itself opens.
  const uint64_t files_needed = 4ull * evidence.plan->world_size() + 256;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeFacts& facts = FactsOf(evidence, node);
    if (facts.open_files_limit() == 0) continue;
    findings.Checked(v1::CHECK_LIMITS, node);
    if (facts.open_files_limit() < files_needed) {
      findings.Warn(v1::CHECK_LIMITS, node,
                    "a process may open " + std::to_string(facts.open_files_limit()) +
                        " files; with " + base::Count(evidence.plan->world_size(), "rank") +
                        " it may need " + std::to_string(files_needed),
                    "raise nofile in /etc/security/limits.conf there");
    }
    const bool infiniband = std::ranges::any_of(
        facts.interfaces(),
        [](const v1::InterfaceFact& interface) { return interface.name().starts_with("ib"); });
    if (infiniband && facts.memlock_limit() != std::numeric_limits<uint64_t>::max()) {
      findings.Warn(
          v1::CHECK_LIMITS, node,
          "a process may lock " + MiB(facts.memlock_limit()) + " of memory; InfiniBand needs more",
          "set memlock to unlimited in /etc/security/limits.conf there");
    }
  }
}

void CheckClocks(const Evidence& evidence, Findings& findings) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    if (FactsOf(evidence, node).time_ns() == 0) continue;
    findings.Checked(v1::CHECK_CLOCK, node);
    const int64_t offset = evidence.nodes[node].clock_offset_ns;
    if (std::llabs(offset) <= kMostClockOffset) continue;
    findings.Warn(v1::CHECK_CLOCK, node,
                  "its clock is " + std::to_string(std::llabs(offset) / 1'000'000'000) + "." +
                      std::to_string(std::llabs(offset) / 100'000'000 % 10) + " s " +
                      (offset > 0 ? "ahead of " : "behind ") + Here(evidence) + "'s",
                  "let the machines keep time (chrony, systemd-timesyncd)");
  }
}

void CheckVariables(const Evidence& evidence, Findings& findings) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    findings.Checked(v1::CHECK_VARIABLES, node);
    for (const std::string& name : FactsOf(evidence, node).variables()) {
      if (IsCollectiveVariable(name)) continue;
      const std::string near = base::Nearest(name, CollectiveVariables());
      findings.Warn(v1::CHECK_VARIABLES, node,
                    "nothing reads the variable " + name +
                        (near.empty() ? "" : "; did you mean " + near + "?"),
                    "correct or remove it where it is set");
    }
  }
}

}  // namespace autodist::diagnosis
