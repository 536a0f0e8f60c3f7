// The programs that are uploaded to nodes: the agent, or autodist itself. Selects the variant for a
// node, and knows its path on this machine.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "bundle/bundle.h"

namespace autodist::transfer {

class NodeProgram {
 public:
  // The agent at `path`, for all machine types; "": the agents embedded in autodist.
  static Result<NodeProgram> OfAgent(const std::string& path);
  // This autodist, for nodes of this machine's type.
  static Result<NodeProgram> OfAutodist();
  // The SHA-256 and size of this autodist, in the form of Versions().
  static Result<std::vector<std::string>> VersionOfAutodist();

  // For messages: "the agent".
  const char* what() const { return place_ == kAgentPlace ? "the agent" : "autodist"; }
  // The names of the folder, ~/.cache/autodist/PLACE/SHA256 on nodes, and of the file.
  const char* place() const { return place_; }
  const char* file() const { return place_ == kAgentPlace ? "autodist-agent" : "autodist"; }

  // One for each supported type of machine.
  const std::vector<bundle::Agent>& variants() const { return variants_; }
  // Returns the variant for a machine, as `uname -m` names it. kFailedPrecondition: not available.
  Result<bundle::Agent> For(std::string_view machine) const;

  // Returns its path on this machine; installs it if missing. Valid as long as this object.
  Result<std::string> PathHere();

  // Returns its path on nodes of this machine's type, relative to the home folder.
  std::string PathOnNode() const;
  // Returns what the scripts look for (scripts/own_folder.sh): SHA-256 and size in bytes of each
  // variant.
  std::vector<std::string> Versions() const;

 private:
  struct Given {
    std::string path;
    std::string sha256;
    std::string packed;
  };

  static constexpr char kAgentPlace[] = "agent";
  static constexpr char kChiefPlace[] = "chief";

  // Uses the program for all types of machines.
  void Give(const std::string& path, std::string_view content);
  Result<std::string> InMemory(std::string_view content);

  const char* place_ = kAgentPlace;
  std::unique_ptr<const Given> given_;   // null: embedded agents
  std::vector<bundle::Agent> variants_;  // this machine's first
  base::UniqueFd memory_;                // the program, if it cannot be written to a folder
};

}  // namespace autodist::transfer
