// The checks that are made on every node before ranks are started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/checks/program_files.h"
#include "diagnosis/diagnose.h"
#include "launch/launcher.h"

namespace autodist::chief {

// Collects the nodes' answers if no probe was sent.
diagnosis::Evidence EvidenceOf(const v1::LaunchPlan& plan,
                               const std::vector<launch::LaunchedNode>& nodes);

// Owns the files that distinguish shared folders from equal copies; its destructor removes them.
class Preflight {
 public:
  // Reads the program's own files, and their digests if this machine is not a node. `thorough`:
  // makes all checks of `autodist doctor`, not only the cheap ones. `health`: checks the
  // hardware.
  Preflight(const v1::LaunchPlan& plan, bool thorough, bool health = true);
  ~Preflight();
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

  const v1::ProbeRequest& probe() const { return probe_; }

  // Collects the nodes' answers, without network trials. `nodes` are all nodes of the plan, by
  // rank.
  diagnosis::Evidence EvidenceFrom(const std::vector<launch::LaunchedNode>& nodes) const;

 private:
  void ReadDigests(const std::string& folder);
  void MarkSharedFolders();
  void AddVariables(bool thorough);

  const v1::LaunchPlan& plan_;
  v1::ProbeRequest probe_;
  ProgramFiles program_;
  std::vector<std::string> mentioned_variables_;  // that the program mentions
  std::optional<std::vector<std::string>> digests_here_;
};

}  // namespace autodist::chief
