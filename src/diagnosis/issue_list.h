// The checks of a diagnosis, and the list of what they find.
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
// "3000 MiB": as nvidia-smi and df -m have it.
inline std::string MiB(uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

class IssueList {
 public:
  explicit IssueList(const Evidence& evidence) : evidence_(evidence) {}

  // The same issue on several nodes becomes one that names them all; also where it differs by
  // their own addresses alone, for which it then has NODE.
  void Add(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what,
           const std::string& remedy);
  void Bad(v1::Check check, uint32_t node, const std::string& what, const std::string& remedy) {
    Add(check, v1::CHECK_RESULT_BAD, node, what, remedy);
  }
  void Warn(v1::Check check, uint32_t node, const std::string& what, const std::string& remedy) {
    Add(check, v1::CHECK_RESULT_WARNING, node, what, remedy);
  }

  // A issue between nodes.
  void AddForAll(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                 const std::string& what, const std::string& remedy);

  // The check was made on the node; without issues its result is good.
  void Checked(v1::Check check, uint32_t node) { checked_.emplace(check, node); }

  // Whether there is a bad one of the check about the node so far.
  bool HasBad(v1::Check check, uint32_t node) const;

  v1::Diagnosis Take();

 private:
  void AddIssue(v1::Check check, v1::CheckResult result, const std::set<uint32_t>& nodes,
                const std::string& what, const std::string& remedy);

  const Evidence& evidence_;
  std::set<std::pair<v1::Check, uint32_t>> checked_;
  std::vector<v1::DiagnosedIssue> issues_;
  // Check, result, what, remedy: its index in issues_.
  std::map<std::tuple<v1::Check, v1::CheckResult, std::string, std::string>, size_t> index_;
};

// The checks. Each looks at all nodes.
void CheckLogins(const Evidence& evidence, IssueList& issues);
void CheckMachines(const Evidence& evidence, IssueList& issues);  // each is one node
void CheckAddresses(const Evidence& evidence, IssueList& issues);
void CheckRankNetworks(const Evidence& evidence, IssueList& issues);
void CheckPrepared(const Evidence& evidence, IssueList& issues);  // folder, activation, program
void CheckGpus(const Evidence& evidence, IssueList& issues);
void CheckDeviceUsers(const Evidence& evidence, IssueList& issues);
void CheckDisks(const Evidence& evidence, IssueList& issues);
void CheckLimits(const Evidence& evidence, IssueList& issues);
void CheckClocks(const Evidence& evidence, IssueList& issues);
void CheckVariables(const Evidence& evidence, IssueList& issues);
void CheckLogs(const Evidence& evidence, IssueList& issues);
void CheckChiefVariables(const Evidence& evidence, IssueList& issues);

// Those that compare nodes with each other, above all with the chief's.
void CheckFiles(const Evidence& evidence, IssueList& issues);
void CheckShared(const Evidence& evidence, IssueList& issues);
void CheckActivations(const Evidence& evidence, IssueList& issues);
void CheckPrograms(const Evidence& evidence, IssueList& issues);
void CheckPythons(const Evidence& evidence, IssueList& issues);

// Whether the node's working directory cannot be entered: much else follows from that.
bool LacksFolder(const Evidence& evidence, uint32_t node);

// Whether --sync would bring what is in the working directory.
bool WillSync(const Evidence& evidence, uint32_t node);

void CheckDrivers(const Evidence& evidence, IssueList& issues);
void CheckHostNames(const Evidence& evidence, IssueList& issues);

// Says of each node whose value is not that of the chief, or where the chief has none, of the
// first node that has.
void CompareValues(const Evidence& evidence, IssueList& issues, v1::Check check,
                   v1::CheckResult result, const std::string& what, const std::string& remedy,
                   const std::function<std::string(uint32_t node)>& value_of);

// Whether the nodes reach each other.
void CheckNetwork(const Evidence& evidence, IssueList& issues);

// Whether the machine that autodist runs on is one of the nodes, the first one.
bool TakesPart(const v1::LaunchPlan& plan);

// The machine that autodist runs on: "the chief", or "this machine" where that is no node.
std::string Here(const Evidence& evidence);

// What to do where a node lacks a file that is here.
std::string CopyRemedy(const Evidence& evidence, const std::string& what);

// The nodes whose agents answered, by rank.
std::vector<uint32_t> ReachedNodes(const Evidence& evidence);

const v1::NodePlan& PlanOf(const Evidence& evidence, uint32_t node);
const v1::NodeInfo& FactsOf(const Evidence& evidence, uint32_t node);
std::string NameOf(const Evidence& evidence, uint32_t node);

}  // namespace autodist::diagnosis
