// Checks that compare nodes with each other.
#include <algorithm>
#include <functional>
#include <map>

#include "base/a_few_of.h"
#include "base/ip_address.h"
#include "diagnosis/issue_list.h"

namespace autodist::diagnosis {
namespace {

constexpr uint32_t kChief = 0;

bool ChiefIsKnown(const Evidence& evidence) {
  return !evidence.nodes.empty() && evidence.nodes[kChief].reached.ok();
}

// The chief's digests, in the order of the requested files.
std::optional<std::vector<std::string>> DigestsHere(const Evidence& evidence) {
  if (evidence.digests_here || !ChiefIsKnown(evidence)) return evidence.digests_here;
  std::vector<std::string> digests;
  for (const v1::FileFact& file : FactsOf(evidence, kChief).files()) {
    digests.push_back(file.digest());
  }
  return digests;
}

// This machine lacks the script, too.
std::string ScriptRemedy(const Evidence& evidence) {
  const std::string where = "programs start in " + evidence.plan->working_directory();
  return evidence.nearest_script.empty()
             ? where + ": run autodist from the script's folder, or give its path from there"
             : "did you mean " + evidence.nearest_script + "? (" + where + ")";
}

constexpr const char* kMountRemedy =
    "mount the shared file system there, or remove the folder from shared_paths";

const v1::SharedFolderFact* SharedFolderOf(const Evidence& evidence, uint32_t node, int index) {
  const auto& folders = FactsOf(evidence, node).shared_folders();
  return index < folders.size() ? &folders[index] : nullptr;
}

// Compares the shared folder with this index to the first node's, if the chief is not a node.
void CheckSharedAmongNodes(const Evidence& evidence, IssueList& issues, int index) {
  constexpr uint32_t kFirst = 0;
  const std::string& folder = evidence.probe.shared_folders(index);
  const v1::SharedFolderFact* first = SharedFolderOf(evidence, kFirst, index);
  if (!first) return;
  if (!first->error().empty()) {
    issues.Bad(v1::CHECK_SHARED, kFirst, "shared folder " + folder + ": " + first->error(),
               "correct shared_paths in the spec, or mount the folder");
    return;
  }
  for (const uint32_t node : ReachedNodes(evidence)) {
    const v1::SharedFolderFact* own = SharedFolderOf(evidence, node, index);
    if (!own) continue;
    issues.Checked(v1::CHECK_SHARED, node);
    const bool same = node == kFirst || std::ranges::count(own->seen(), kFirst) > 0 ||
                      std::ranges::count(first->seen(), node) > 0;
    if (same) continue;
    const std::string whose = NameOf(evidence, kFirst) + "'s folder";
    if (own->not_writable()) {
      issues.Warn(v1::CHECK_SHARED, node,
                  folder + " may not be " + whose + ": what was written there is not here, and " +
                      "nothing can be written here (" + own->error() + ")",
                  kMountRemedy);
    } else {
      issues.Bad(v1::CHECK_SHARED, node,
                 folder + " is not " + whose + ": " +
                     (own->error().empty() ? "what each has just written there, the other "
                                             "does not find"
                                           : own->error()),
                 kMountRemedy);
    }
  }
}

bool IsMissingProgramOf(const Evidence& evidence, uint32_t node, const std::string& path) {
  const auto& ranks = PlanOf(evidence, node).ranks();
  if (ranks.empty() || ranks[0].argv().empty() || ranks[0].argv(0) != path) return false;
  return std::ranges::any_of(evidence.nodes[node].prepared.issues(), [](const auto& issue) {
    return issue.kind() == v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND;
  });
}

}  // namespace

void CompareValues(const Evidence& evidence, IssueList& issues, v1::Check check,
                   v1::CheckResult result, const std::string& what, const std::string& remedy,
                   const std::function<std::string(uint32_t node)>& value_of) {
  std::string common;
  uint32_t owner = 0;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const std::string value = value_of(node);
    if (value.empty()) continue;
    issues.Checked(check, node);
    if (common.empty()) {
      common = value;
      owner = node;
    } else if (value != common) {
      issues.Add(check, result, node,
                 what + " is " + value + ", but " + common + " on " + NameOf(evidence, owner),
                 remedy);
    }
  }
}

std::string Here(const Evidence& evidence) {
  return TakesPart(*evidence.plan) ? "the chief" : "this machine";
}

std::string CopyRemedy(const Evidence& evidence, const std::string& path, const std::string& what) {
  if (const auto leads = evidence.leads_out.find(path); leads != evidence.leads_out.end()) {
    return "copy " + leads->second +
           " there, or replace the link by what it leads to: --sync copies links as they are";
  }
  if (evidence.restarts) return "copy " + what + " there";
  if (!IsInFolder(evidence, path)) {
    return "copy " + what + " there; --sync copies only the working directory";
  }
  return evidence.synced || evidence.will_sync
             ? "--sync skips files that .gitignore or .autodistignore excludes: remove the entry, "
               "or copy " +
                   what + " there"
             : "run with --sync, which copies what " + Here(evidence) + " has, or copy " + what +
                   " there";
}

void CheckFiles(const Evidence& evidence, IssueList& issues) {
  const auto here = DigestsHere(evidence);
  if (!here) return;
  for (const uint32_t node : ReachedNodes(evidence)) {
    const bool will_sync = WillSync(evidence, node);
    if (LacksFolder(evidence, node) && !will_sync) continue;
    const auto& files = FactsOf(evidence, node).files();
    std::vector<std::string> different;
    for (int i = 0; i < std::min(files.size(), static_cast<int>(here->size())); ++i) {
      const std::string& own = (*here)[static_cast<size_t>(i)];
      const std::string& path = evidence.probe.files(i);
      if (IsMissingProgramOf(evidence, node, path)) continue;  // reported already
      const bool script = path == evidence.missing_script;
      // --sync cannot copy a file that the chief itself lacks.
      if (will_sync && !script && !evidence.not_copied.contains(path)) continue;
      // Other missing files are reported by the search for the program.
      if (own.empty() && !(script && PlanOf(evidence, node).ranks_size() > 0)) {
        continue;
      }
      issues.Checked(v1::CHECK_FILES, node);
      if (files[i].digest().empty()) {
        const auto leads = evidence.leads_out.find(path);
        const std::string to =
            leads == evidence.leads_out.end() ? "" : ", a link to " + leads->second;
        issues.Bad(v1::CHECK_FILES, node, path + to + ": " + files[i].error(),
                   script ? ScriptRemedy(evidence) : CopyRemedy(evidence, path, "it"));
      } else if (!script && files[i].digest() != own) {
        different.push_back(path);
      }
    }
    if (different.empty()) continue;
    issues.Bad(v1::CHECK_FILES, node,
               base::AFewOf(different) + (different.size() == 1 ? " differs" : " differ") +
                   " from " + Here(evidence) + "'s",
               CopyRemedy(evidence, different.front(), Here(evidence) + "'s"));
  }
}

void CheckNeeds(const Evidence& evidence, IssueList& issues) {
  for (const uint32_t node : ReachedNodes(evidence)) {
    for (const uint32_t index : FactsOf(evidence, node).missing_paths()) {
      if (index >= evidence.needs.size()) continue;
      const NodeNeed& need = evidence.needs[index];
      // The issue of an unusable program, or of a file, already says it.
      if (need.check == v1::CHECK_PROGRAM && issues.HasBad(need.check, node)) continue;
      issues.Add(need.check, need.result, node, Message(need.missing), Remedy(need.missing));
    }
  }
}

void CheckShared(const Evidence& evidence, IssueList& issues) {
  if (!ChiefIsKnown(evidence)) return;
  for (int i = 0; i < evidence.probe.shared_folders_size(); ++i) {
    CheckSharedAmongNodes(evidence, issues, i);
  }
  const auto& chiefs = FactsOf(evidence, kChief).shared_files();
  for (const uint32_t node : ReachedNodes(evidence)) {
    const auto& files = FactsOf(evidence, node).shared_files();
    for (int i = 0; i < std::min(files.size(), chiefs.size()); ++i) {
      const std::string& path = evidence.probe.shared_files(i);
      const std::string folder = path.substr(0, path.rfind('/'));
      issues.Checked(v1::CHECK_SHARED, node);
      if (chiefs[i].digest().empty()) {
        issues.Bad(v1::CHECK_SHARED, kChief, "shared folder " + folder + ": " + chiefs[i].error(),
                   "correct shared_paths in the spec, or mount the folder");
      } else if (files[i].digest() != chiefs[i].digest()) {
        issues.Bad(v1::CHECK_SHARED, node,
                   folder +
                       " is not the chief's folder: what was just written on the chief is "
                       "not there (" +
                       (files[i].error().empty() ? "something else is" : files[i].error()) + ")",
                   kMountRemedy);
      }
    }
  }
}

// A virtual environment on every other node was probably forgotten on this machine.
void CheckActivations(const Evidence& evidence, IssueList& issues) {
  const auto& nodes = evidence.plan->nodes();
  const auto has_none = [](const v1::NodePlan& node) {
    return std::ranges::none_of(node.environment(), &v1::EnvironmentStep::has_activate);
  };
  if (nodes.size() < 2 || !nodes[kChief].reach().has_local()) return;
  if (evidence.activated_here || std::ranges::count_if(nodes, has_none) != 1) return;
  if (!has_none(nodes[kChief])) return;
  issues.Warn(v1::CHECK_VENV, kChief,
              std::string("the chief has no python_venv, unlike ") +
                  (nodes.size() == 2 ? "the other node" : "all other nodes") +
                  (nodes[kChief].ranks_size() == 1 ? "; its rank uses" : "; its ranks use") +
                  " the environment of this shell",
              "give its node a python_venv in the spec, or activate the environment here first");
}

void CheckDrivers(const Evidence& evidence, IssueList& issues) {
  const auto compare = [&](const char* what, const std::string& (v1::NodeInfo::*value)() const) {
    CompareValues(evidence, issues, v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, what,
                  "install the same version everywhere",
                  [&](uint32_t node) { return (FactsOf(evidence, node).*value)(); });
  };
  compare("the NVIDIA driver", &v1::NodeInfo::driver_version);
  compare("the driver's CUDA version", &v1::NodeInfo::cuda_version);
  const bool on_gpus = std::ranges::any_of(evidence.plan->nodes(), [](const v1::NodePlan& node) {
    return node.ranks_size() > 0 && node.ranks(0).device().kind() == v1::DEVICE_KIND_GPU;
  });
  if (on_gpus) compare("the NCCL version", &v1::NodeInfo::nccl_version);
}

void CheckHostNames(const Evidence& evidence, IssueList& issues) {
  if (evidence.nodes.size() < 2) return;
  const auto machines = MachinesOf(evidence);
  std::map<std::string, uint32_t> owners;
  for (const uint32_t node : ReachedNodes(evidence)) {
    if (machines[node] != node) continue;  // reported already
    const v1::NodeInfo& facts = FactsOf(evidence, node);
    if (facts.hostname().empty()) continue;
    issues.Checked(v1::CHECK_NAME, node);
    const auto [owner, first] = owners.emplace(facts.hostname(), node);
    if (!first) {
      issues.Warn(v1::CHECK_NAME, node,
                  "its host name is " + facts.hostname() + ", like that of " +
                      NameOf(evidence, owner->second) + "; frameworks treat the two as one machine",
                  "give each machine its own name (hostnamectl set-hostname)");
    }
    const auto& addresses = facts.hostname_addresses();
    const bool loopback =
        !addresses.empty() && std::ranges::all_of(addresses, [](const std::string& address) {
          const auto ip = base::IpAddress::Parse(address);
          return ip && ip->IsLoopback();
        });
    if (loopback) {
      issues.Warn(v1::CHECK_NAME, node,
                  "its host name " + facts.hostname() + " resolves to " + addresses[0] +
                      " there; programs that announce this name cannot be reached",
                  "remove the name from the line with " + addresses[0] + " in its /etc/hosts");
    }
  }
}

}  // namespace autodist::diagnosis
