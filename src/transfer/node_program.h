// The programs that nodes are sent: the agent, or autodist itself. Which one a node gets, and where
// it is on this machine.
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
  // The agent at `path`, for whatever machines the nodes are; "": those that travel inside
  // autodist.
  static Result<NodeProgram> OfAgent(const std::string& path);
  // This very autodist, for nodes that are such machines as this one.
  static Result<NodeProgram> OfAutodist();
  // The SHA-256 of this very autodist and its size, as Versions() has them.
  static Result<std::vector<std::string>> VersionOfAutodist();

  // In messages: "the agent".
  const char* what() const { return place_ == kAgentPlace ? "the agent" : "autodist"; }
  // Of its folder, within ~/.cache/autodist/PLACE/SHA256 on nodes, and its name there.
  const char* place() const { return place_; }
  const char* file() const { return place_ == kAgentPlace ? "autodist-agent" : "autodist"; }

  // For each kind of machine that there is an agent for.
  const std::vector<bundle::Agent>& variants() const { return variants_; }
  // That for a node of this machine, as `uname -m` calls it. kFailedPrecondition: there is none.
  Result<bundle::Agent> For(std::string_view machine) const;

  // Where it is on this machine, put there where it was missing. Valid for as long as this object.
  Result<std::string> PathHere();

  // Where it is on nodes like this machine, from the home folder.
  std::string PathOnNode() const;
  // What a script looks for (scripts/own_folder.sh): SHA-256 and size in bytes of each variant.
  std::vector<std::string> Versions() const;

 private:
  struct Given {
    std::string path;
    std::string sha256;
    std::string packed;
  };

  static constexpr char kAgentPlace[] = "agent";
  static constexpr char kChiefPlace[] = "chief";

  // For the machines of all variants.
  void Give(const std::string& path, std::string_view content);
  Result<std::string> InMemory(std::string_view content);

  const char* place_ = kAgentPlace;
  std::unique_ptr<const Given> given_;   // null: none
  std::vector<bundle::Agent> variants_;  // this machine's first
  base::UniqueFd memory_;                // the program, where no folder can have it
};

}  // namespace autodist::transfer
