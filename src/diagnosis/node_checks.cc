// Checks that need only one node.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/did_you_mean.h"
#include "base/disk_room.h"
#include "base/quantity.h"
#include "base/split.h"
#include "diagnosis/collective_variables.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

constexpr uint64_t kLittleDisk = 1024 * kMiB;
constexpr uint64_t kLittleSharedMemory = 64 * kMiB;  // the default in containers
constexpr uint64_t kLittleFreeSharedMemory = 256 * kMiB;
constexpr int64_t kMaxClockOffset = 1'000'000'000;  // ns

std::string ProgramOf(const Evidence& evidence) {
  const auto& ranks = evidence.plan->nodes(0).ranks();
  return ranks.empty() || ranks[0].argv().empty() ? "" : ranks[0].argv(0);
}

// Whether the program is a path in the working directory, not a name in PATH.
bool ProgramIsInFolder(const Evidence& evidence) {
  const std::string program = ProgramOf(evidence);
  return program.find('/') != std::string::npos && IsInFolder(evidence, program);
}

// Whether --sync would copy the program.
bool IsSynced(const Evidence& evidence) {
  return ProgramIsInFolder(evidence) && !evidence.not_copied.contains(ProgramOf(evidence));
}

bool IsMissingFolder(const v1::PrepareIssue& issue) {
  return issue.kind() == v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY;
}

bool IsMissingProgram(const v1::PrepareIssue& issue) {
  return issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND ||
         issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_EXECUTABLE;
}

// Whether an activation reads a file by a relative path, so from the working directory.
bool ActivatesInFolder(const v1::NodePlan& node) {
  return std::ranges::any_of(node.environment(), [](const v1::EnvironmentStep& step) {
    const auto words = base::Split(step.activate(), ' ');
    return std::ranges::any_of(words, [](std::string_view word) {
      return word.find('/') != std::string_view::npos && word[0] != '/' && word[0] != '~' &&
             word[0] != '$' && word[0] != '"' && word[0] != '\'';
    });
  });
}

// Whether the issue is caused by the missing working directory, or disappears once --sync has
// copied it.
bool FollowsFromFolder(const Evidence& evidence, uint32_t node, const v1::PrepareIssue& issue) {
  const bool missing = LacksFolder(evidence, node);
  if (IsMissingFolder(issue)) return WillSync(evidence, node);
  if (IsMissingProgram(issue)) {
    return (missing || WillSync(evidence, node)) && IsSynced(evidence);
  }
  return missing && issue.kind() == v1::PREPARE_ISSUE_KIND_ACTIVATION &&
         ActivatesInFolder(PlanOf(evidence, node));
}

// Whether autodist's machine has the working directory.
bool HasFolderHere(const Evidence& evidence) {
  return !TakesPart(*evidence.plan) ||
         (evidence.nodes.front().reached.ok() && !LacksFolder(evidence, 0));
}

// Whether autodist's machine has the working directory and, as far as known, the program.
bool HasProgramHere(const Evidence& evidence) {
  if (!TakesPart(*evidence.plan)) return !evidence.lacks_program_here;
  const NodeEvidence& chief = evidence.nodes.front();
  return chief.reached.ok() && chief.prepared.issues().empty();
}

// Drops the PATH if several nodes lack the program in different PATHs, so that one cause is one
// line.
std::string CauseOf(const Evidence& evidence, const v1::PrepareIssue& issue) {
  constexpr std::string_view kNotInPath = " is not in PATH";
  const size_t end = issue.cause().find(kNotInPath);
  if (end == std::string::npos) return issue.cause();
  std::string general = issue.cause().substr(0, end + kNotInPath.size());
  for (const uint32_t node : ReachedNodes(evidence)) {
    for (const v1::PrepareIssue& other : evidence.nodes[node].prepared.issues()) {
      if (other.cause() != issue.cause() && other.cause().starts_with(general)) return general;
    }
  }
  return issue.cause();
}

// An agent's warnings are lines without a kind.
v1::Check CheckOfWarning(const std::string& warning) {
  if (warning.find("interface") != std::string::npos) return v1::CHECK_ADDRESS;
  return warning.find("GPU") != std::string::npos ? v1::CHECK_DEVICES : v1::CHECK_PROGRAM;
}

// The agent's remedy, extended by facts that it cannot know: that the chief has what this node
// lacks.
std::string RemedyOf(const Evidence& evidence, const v1::PrepareIssue& issue) {
  if (issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND && ProgramIsInFolder(evidence)) {
    return HasProgramHere(evidence) ? CopyRemedy(evidence, ProgramOf(evidence), "it")
                                    : issue.remedy();
  }
  if (!IsMissingFolder(issue) || evidence.synced || evidence.restarts || !HasFolderHere(evidence)) {
    return issue.remedy();
  }
  return "run with --sync, which copies " + Here(evidence) + "'s, or " + issue.remedy();
}

void CheckSharedMemory(uint32_t node, const v1::DiskFact& memory, IssueList& issues) {
  constexpr char kNeedMore[] = "; data loaders with several workers need more";
  if (memory.size() == 0) return;
  if (memory.size() <= kLittleSharedMemory) {
    issues.Warn(v1::CHECK_DISK, node,
                "/dev/shm has " + base::BinaryBytes(memory.size()) + kNeedMore,
                "enlarge it; of a container: --shm-size or --ipc=host; of a pod: an emptyDir with "
                "`medium: Memory`");
  } else if (memory.free() < kLittleFreeSharedMemory) {
    issues.Warn(v1::CHECK_DISK, node,
                "/dev/shm has " + base::BinaryBytes(memory.free()) + " of " +
                    base::BinaryBytes(memory.size()) + " free" + kNeedMore,
                "remove what programs that have ended left there: `ls -lSA /dev/shm` lists the "
                "files, largest first");
  }
}

}  // namespace

bool LacksFolder(const Evidence& evidence, uint32_t node) {
  return std::ranges::any_of(evidence.nodes[node].prepared.issues(), IsMissingFolder);
}

bool IsInFolder(const Evidence& evidence, const std::string& path) {
  if (path.starts_with('/')) return path.starts_with(evidence.plan->working_directory() + "/");
  return path != ".." && !path.starts_with("../");
}

bool WillSync(const Evidence& evidence, uint32_t node) {
  return evidence.will_sync && !PlanOf(evidence, node).reach().has_local();
}

bool TakesPart(const v1::LaunchPlan& plan) { return plan.nodes(0).reach().has_local(); }

void CheckLogins(const Evidence& evidence, IssueList& issues) {
  for (uint32_t node = 0; node < evidence.nodes.size(); ++node) {
    const NodeEvidence& found = evidence.nodes[node];
    const Status& reached = found.reached;
    issues.Checked(v1::CHECK_LOGIN, node);
    if (reached.ok() || found.step != v1::CHECK_LOGIN) issues.Checked(v1::CHECK_AGENT, node);
    if (!reached.ok()) issues.Bad(found.step, node, Message(reached), Remedy(reached));
  }
}

void CheckPrepared(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::PrepareResponse& prepared = evidence.nodes[node].prepared;
    issues.Checked(v1::CHECK_FOLDER, node);
    if (std::ranges::any_of(PlanOf(evidence, node).environment(),
                            &v1::EnvironmentStep::has_activate)) {
      issues.Checked(v1::CHECK_VENV, node);
    }
    bool activation_failed = false;
    for (const v1::PrepareIssue& issue : prepared.issues()) {
      if (FollowsFromFolder(evidence, node, issue)) continue;
      v1::Check check = v1::CHECK_PROGRAM;
      if (issue.kind() == v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY) check = v1::CHECK_FOLDER;
      if (issue.kind() == v1::PREPARE_ISSUE_KIND_ACTIVATION) check = v1::CHECK_VENV;
      activation_failed |= check == v1::CHECK_VENV;
      issues.Bad(check, node, CauseOf(evidence, issue), RemedyOf(evidence, issue));
    }
    for (const std::string& warning : prepared.warnings()) {
      const v1::Check about = CheckOfWarning(warning);
      if (evidence.warnings && !issues.HasBad(about, node)) {
        issues.Warn(about, node, warning, "");
      }
    }
    const Status& to_copy = evidence.program_to_copy;
    if (WillSync(evidence, node) && !to_copy.ok() && !issues.HasBad(v1::CHECK_PROGRAM, node)) {
      issues.Bad(v1::CHECK_PROGRAM, node, Message(to_copy), Remedy(to_copy));
    }
    // Where the program is depends on the activation.
    const auto& ranks = PlanOf(evidence, node).ranks();
    if (!ranks.empty() && ranks[0].argv_size() > 0 && !activation_failed) {
      issues.Checked(v1::CHECK_PROGRAM, node);
    }
  }
}

void CheckDisks(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    const v1::DiskFact& work = facts.working_directory();
    const std::string& folder = evidence.plan->working_directory();
    // The check of the job's logs covers the same disk, and says more.
    const bool logs = !evidence.logs_here.ok() && PlanOf(evidence, node).reach().has_local();
    if (work.size() > 0 && !logs) {
      issues.Checked(v1::CHECK_DISK, node);
      if (!work.error().empty()) {
        issues.Warn(v1::CHECK_DISK, node, "the working directory " + folder + ": " + work.error(),
                    folder == "/"
                        ? "start a program that writes files in another folder: --workdir FOLDER"
                        : "make it writable: programs that write there, for example checkpoints, "
                          "will fail");
      } else if (work.free() < kLittleDisk) {
        issues.Add(
            v1::CHECK_DISK,
            work.free() < base::kNoRoom ? v1::CHECK_RESULT_BAD : v1::CHECK_RESULT_WARNING, node,
            "the disk with " + folder + " " + base::RoomText(work.size(), work.free()),
            base::IsNearlyFull(work.size(), work.free())
                ? "make room"
                : "enlarge it, or start the program in a folder of another disk: --workdir FOLDER");
      }
    }
    CheckSharedMemory(node, facts.shared_memory(), issues);
  }
}

void CheckLogs(const Evidence& evidence, IssueList& issues) {
  if (evidence.logs_here.ok()) return;
  issues.AddForAll(v1::CHECK_DISK, v1::CHECK_RESULT_BAD, {}, Message(evidence.logs_here),
                   Remedy(evidence.logs_here));
}

void CheckLimits(const Evidence& evidence, IssueList& issues) {
  // One socket per other rank, some more per process, and the program's own files.
  const uint64_t files_needed = 4ull * evidence.plan->world_size() + 256;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    if (facts.open_files_limit() == 0) continue;
    issues.Checked(v1::CHECK_LIMITS, node);
    if (facts.open_files_limit() < files_needed) {
      issues.Warn(v1::CHECK_LIMITS, node,
                  "a process may open " + std::to_string(facts.open_files_limit()) +
                      " files; with " + base::Count(evidence.plan->world_size(), "rank") +
                      " it may need " + std::to_string(files_needed),
                  "raise nofile in /etc/security/limits.conf there");
    }
    const bool infiniband = std::ranges::any_of(
        facts.interfaces(),
        [](const v1::InterfaceFact& interface) { return interface.name().starts_with("ib"); });
    if (infiniband && facts.memlock_limit() != std::numeric_limits<uint64_t>::max()) {
      issues.Warn(v1::CHECK_LIMITS, node,
                  "a process may lock " + base::BinaryBytes(facts.memlock_limit()) +
                      " of memory; InfiniBand needs more",
                  "set memlock to unlimited in /etc/security/limits.conf there");
    }
  }
}

void CheckClocks(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    if (FactsOf(evidence, node).time_ns() == 0) continue;
    issues.Checked(v1::CHECK_CLOCK, node);
    const int64_t offset = evidence.nodes[node].clock_offset_ns;
    if (std::llabs(offset) <= kMaxClockOffset) continue;
    issues.Warn(v1::CHECK_CLOCK, node,
                "the clock is " + std::to_string(std::llabs(offset) / 1'000'000'000) + "." +
                    std::to_string(std::llabs(offset) / 100'000'000 % 10) + " s " +
                    (offset > 0 ? "ahead of " : "behind ") + Here(evidence) + "'s",
                "synchronize the clocks (chrony, systemd-timesyncd)");
  }
}

void CheckVariables(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    issues.Checked(v1::CHECK_VARIABLES, node);
    for (const std::string& name : FactsOf(evidence, node).variables()) {
      if (IsCollectiveVariable(name)) continue;
      const std::string near = base::Nearest(name, CollectiveVariables());
      issues.Warn(v1::CHECK_VARIABLES, node,
                  "nothing reads the variable " + name +
                      (near.empty() ? "" : "; did you mean " + near + "?"),
                  "correct or remove it where it is set");
    }
  }
}

}  // namespace autodist::diagnosis
