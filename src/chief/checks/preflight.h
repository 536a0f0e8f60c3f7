// The checks that are made on every node before ranks are started.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "diagnosis/diagnose.h"
#include "launch/launcher.h"

namespace autodist::chief {

// The files that a command line refers to, found without running it.
struct ProgramFiles {
  // As written on the command line, or relative to the working directory: the program, the
  // arguments that name files, and the modules beside a Python script that it imports.
  std::vector<std::string> files;
  // Imported by the script and not found beside it: "torch".
  std::vector<std::string> python_modules;
  // Those of python_modules that the script and its modules import unconditionally, in order:
  // outside of blocks, and before any line that may change the module search path.
  struct Import {
    std::string module;  // "torch.distributed"
    std::string where;   // "train.py, line 3"
  };
  std::vector<Import> imports;
  // Modules whose import is guarded by an alternative.
  std::set<std::string> optional_modules;
  // The script of an interpreter, one of `files`, if it does not exist here; else empty. And the
  // existing script with the most similar name, if one is similar enough.
  std::string missing_script;
  std::string nearest_script;
};

// Reads files below `directory`, of bounded number and size. Omits files so large that they are
// data, and missing files except for a script.
ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory);

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
