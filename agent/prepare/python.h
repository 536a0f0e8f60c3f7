// What the Python that ranks run is, and which modules it has.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// Whether a program is a Python, by its file's name.
bool IsPython(const std::string& program);

// How long a Python may take to tell about itself, and to import what a script does: on a busy
// machine, and from a file system on the network.
inline constexpr std::chrono::seconds kPythonLimit{10};
inline constexpr std::chrono::seconds kImportLimit{20};

// The Python of a rank.
struct RankPython {
  std::string program;  // as the command has it, or the first line of its script
  std::string script;   // empty: none
};

// Where the command is a Python, also behind `env` and the like, or a script that names one in its
// first line.
std::optional<RankPython> PythonOf(const std::vector<std::string>& command,
                                   const process::Environment& environment,
                                   const std::string& working_directory);

// Asks a Python, run as the rank would be: what its script could import, without importing it.
// Blocks for kPythonLimit at most, and as long as a killed Python takes to end.
v1::PythonFact PythonFacts(const RankPython& of_rank,
                           const google::protobuf::RepeatedPtrField<std::string>& modules,
                           const process::Environment& environment,
                           const std::string& working_directory, Supervisor& supervisor);

// Imports them in their order, as the rank's script would, until one fails; nullopt: none did
// within kImportLimit. Blocks for as long.
std::optional<v1::FailedImport> TryImports(
    const RankPython& of_rank, const google::protobuf::RepeatedPtrField<v1::PythonImport>& imports,
    const process::Environment& environment, const std::string& working_directory,
    Supervisor& supervisor);

// What it was that failed, of so many imports, by what the Python printed and how it ended.
std::optional<v1::FailedImport> FailedImportIn(std::string_view printed, const std::string& ended,
                                               uint32_t imports);

}  // namespace autodist::agent
