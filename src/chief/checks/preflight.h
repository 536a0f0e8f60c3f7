// The checks that are made on every node before ranks are started.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "autodist/v1/agent.pb.h"
#include "autodist/v1/plan.pb.h"
#include "chief/checks/synced_files.h"
#include "diagnosis/diagnose.h"
#include "files/file_tree.h"
#include "launch/launcher.h"

namespace autodist::chief {

// The files that a command line refers to, found without running it.
struct ProgramFiles {
  // As written on the command line, or relative to the working directory: the program, the
  // arguments that name files, and the modules beside a Python script that it imports.
  std::vector<std::string> files;
  std::vector<std::string> large;  // further files, which are too large to be compared
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

// Reads files below `directory`, of bounded number and size. Omits missing files, but a script.
ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory);

// Returns whether this machine, which is no node, lacks the path that --sync would copy. Reads the
// working directory, so it may block.
bool LacksProgramHere(const v1::LaunchPlan& plan);

// Collects the nodes' answers if no probe was sent. Reads no disk.
diagnosis::Evidence EvidenceOf(const v1::LaunchPlan& plan,
                               const std::vector<launch::LaunchedNode>& nodes);

// Owns the files that distinguish shared folders from equal copies; its destructor removes them.
class Preflight {
 public:
  // Reads the program's own files, and their digests if this machine is not a node. `thorough`:
  // makes all checks of `autodist doctor`, not only the cheap ones. `health`: checks the
  // hardware. `synced`: what --sync copies to the nodes; null: nothing.
  Preflight(const v1::LaunchPlan& plan, bool thorough, bool health = true,
            const files::FileTree* synced = nullptr);
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
  void AddSynced(const files::FileTree& tree, const std::string& folder);
  void AddLargeFiles(bool synced);
  void AddNeed(const std::string& path, const diagnosis::NodeNeed& need);

  const v1::LaunchPlan& plan_;
  v1::ProbeRequest probe_;
  ProgramFiles program_;
  SyncedFiles synced_;
  Status program_to_copy_;
  std::vector<diagnosis::NodeNeed> needs_;        // one for each of the probe's paths
  std::vector<std::string> mentioned_variables_;  // that the program mentions
  std::optional<std::vector<std::string>> digests_here_;
};

}  // namespace autodist::chief
