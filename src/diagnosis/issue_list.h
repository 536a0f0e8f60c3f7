// Collects the issues of a diagnosis; declares its checks.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "diagnosis/diagnose.h"

namespace autodist::diagnosis {

inline constexpr uint64_t kMiB = 1 << 20;

// "3000 MiB", as printed by nvidia-smi.
inline std::string MiB(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

class IssueList {
 public:
  explicit IssueList(const Evidence& evidence) : evidence_(evidence) {}

  // Merges the same issue of several nodes; also if the texts differ only by the nodes' own
  // addresses, which become NODE.
  void Add(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what,
           const std::string& remedy);
  void Bad(v1::Check check, uint32_t node, const std::string& what, const std::string& remedy) {
    Add(check, v1::CHECK_RESULT_BAD, node, what, remedy);
  }
  void Warn(v1::Check check, uint32_t node, const std::string& what, const std::string& remedy) {
    Add(check, v1::CHECK_RESULT_WARNING, node, what, remedy);
  }

  // An issue between nodes.
  void AddForAll(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                 const std::string& what, const std::string& remedy);

  // Records that the check was made on the node; without issues its result is good.
  void Checked(v1::Check check, uint32_t node) { checked_.emplace(check, node); }

  // Whether the check has a bad issue for the node so far.
  bool HasBad(v1::Check check, uint32_t node) const;

  v1::Diagnosis Take();

 private:
  void AddIssue(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                const std::string& what, const std::string& remedy);

  const Evidence& evidence_;
  std::set<std::pair<v1::Check, uint32_t>> checked_;
  std::vector<v1::DiagnosedIssue> issues_;
  // The index in issues_, by check, result, what and remedy.
  std::map<std::tuple<v1::Check, v1::CheckResult, std::string, std::string>, size_t> index_;
};

// The checks. Each covers all nodes.
void CheckLogins(const Evidence& evidence, IssueList& issues);
void CheckMachines(const Evidence& evidence, IssueList& issues);  // each machine is one node
void CheckAddresses(const Evidence& evidence, IssueList& issues);
void CheckRankNetworks(const Evidence& evidence, IssueList& issues);
void CheckPrepared(const Evidence& evidence, IssueList& issues);  // folder, activation, program
void CheckGpus(const Evidence& evidence, IssueList& issues);
void CheckDeviceUsers(const Evidence& evidence, IssueList& issues);
void CheckHealth(const Evidence& evidence, IssueList& issues);
void CheckDisks(const Evidence& evidence, IssueList& issues);
void CheckLimits(const Evidence& evidence, IssueList& issues);
void CheckClocks(const Evidence& evidence, IssueList& issues);
void CheckVariables(const Evidence& evidence, IssueList& issues);
void CheckLogs(const Evidence& evidence, IssueList& issues);
void CheckChiefVariables(const Evidence& evidence, IssueList& issues);

// Checks that compare nodes with each other, above all with the chief.
void CheckFiles(const Evidence& evidence, IssueList& issues);
void CheckNeeds(const Evidence& evidence, IssueList& issues);
void CheckShared(const Evidence& evidence, IssueList& issues);
void CheckActivations(const Evidence& evidence, IssueList& issues);
void CheckPrograms(const Evidence& evidence, IssueList& issues);
void CheckPythons(const Evidence& evidence, IssueList& issues);

// Whether the node's working directory cannot be entered, which causes many other issues.
bool LacksFolder(const Evidence& evidence, uint32_t node);

// Whether --sync would copy the working directory to the node.
bool WillSync(const Evidence& evidence, uint32_t node);

// Whether the path, as a command line has it, is in the working directory.
bool IsInFolder(const Evidence& evidence, const std::string& path);

void CheckDrivers(const Evidence& evidence, IssueList& issues);
void CheckHostNames(const Evidence& evidence, IssueList& issues);

// Reports each node whose value differs from the chief's or, if the chief has none, from that of
// the first node that has one.
void CompareValues(const Evidence& evidence, IssueList& issues, v1::Check check,
                   v1::CheckResult result, const std::string& what, const std::string& remedy,
                   const std::function<std::string(uint32_t node)>& value_of);

// Checks connections between the nodes.
void CheckNetwork(const Evidence& evidence, IssueList& issues);

// Whether autodist runs on one of the nodes, the first one.
bool TakesPart(const v1::LaunchPlan& plan);

// The machine that autodist runs on: "the chief", or "this machine" if it is no node.
std::string Here(const Evidence& evidence);

// The remedy if a node lacks a file of the program, or has another one. `what`: to copy.
std::string CopyRemedy(const Evidence& evidence, const std::string& path, const std::string& what);

// The nodes whose agents answered, by rank.
std::vector<uint32_t> ReachedNodes(const Evidence& evidence);

bool IsInContainer(const Evidence& evidence, uint32_t node);

const v1::NodePlan& PlanOf(const Evidence& evidence, uint32_t node);
const v1::NodeInfo& FactsOf(const Evidence& evidence, uint32_t node);
std::string NameOf(const Evidence& evidence, uint32_t node);

}  // namespace autodist::diagnosis
