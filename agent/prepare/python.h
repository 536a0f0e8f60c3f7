// The Python of the ranks, and its modules.
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

// The limit for a Python to report facts, and to import the modules of a script, on a busy machine
// and from a network file system.
inline constexpr std::chrono::seconds kPythonLimit{10};
inline constexpr std::chrono::seconds kImportLimit{20};

// The Python of a rank.
struct RankPython {
  std::string program;  // from the command, or from the first line of a script
  std::string script;   // may be empty
};

// Finds it if the command is a Python, also behind `env` and the like, or a script whose first line
// names one.
std::optional<RankPython> PythonOf(const std::vector<std::string>& command,
                                   const process::Environment& environment,
                                   const std::string& working_directory);

// Runs the Python in the rank's environment, and asks which modules its script could import,
// without importing them. Blocks for kPythonLimit at most, plus the time that a killed Python needs
// to end.
v1::PythonFact PythonFacts(const RankPython& of_rank,
                           const google::protobuf::RepeatedPtrField<std::string>& modules,
                           const process::Environment& environment,
                           const std::string& working_directory, Supervisor& supervisor);

// Imports modules in order, as the rank's script would, until one fails; nullopt: none failed
// within kImportLimit. Blocks for up to that time.
std::optional<v1::FailedImport> TryImports(
    const RankPython& of_rank, const google::protobuf::RepeatedPtrField<v1::PythonImport>& imports,
    const process::Environment& environment, const std::string& working_directory,
    Supervisor& supervisor);

// Determines the failed one of `imports` modules from the Python's output and exit status.
std::optional<v1::FailedImport> FailedImportIn(std::string_view printed, const std::string& ended,
                                               uint32_t imports);

}  // namespace autodist::agent
