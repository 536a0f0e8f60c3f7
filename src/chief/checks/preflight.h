// What is looked at on every node before ranks are started.
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

// What the nodes answered where nothing was asked besides whether they are ready.
diagnosis::Evidence EvidenceOf(const v1::LaunchPlan& plan,
                               const std::vector<launch::LaunchedNode>& nodes);

// Owns the files by which shared folders are told from equal copies; removes them at its end.
class Preflight {
 public:
  // Reads the program's own files, and where this machine takes no part their digests. `thorough`:
  // as `autodist doctor` looks, not only what is cheap.
  Preflight(const v1::LaunchPlan& plan, bool thorough);
  ~Preflight();
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

  const v1::ProbeRequest& probe() const { return probe_; }

  // What the nodes answered; without trials of the network. `nodes` are all of the plan's, by rank.
  diagnosis::Evidence EvidenceFrom(const std::vector<launch::LaunchedNode>& nodes) const;

 private:
  void ReadDigests(const std::string& folder);
  void MarkSharedFolders();
  void AddVariables(bool thorough);

  const v1::LaunchPlan& plan_;
  v1::ProbeRequest probe_;
  ProgramFiles program_;
  std::vector<std::string> mentioned_variables_;  // by the program, of those asked for
  std::optional<std::vector<std::string>> digests_here_;
};

}  // namespace autodist::chief
