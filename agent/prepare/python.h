// What the Python that ranks run is, and which modules it has.
#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/v1/agent.pb.h"
#include "process/environment.h"

namespace autodist::agent {

// Whether the program of a rank is a Python, by its file's name.
bool IsPython(const std::string& program);

// Asks the Python that begins `command`, a rank's, run as the rank would be: what its script could
// import, without importing it. Blocks for kExamineLimit at most, and as long as a killed Python
// takes to end.
v1::PythonFact PythonFacts(const std::vector<std::string>& command,
                           const google::protobuf::RepeatedPtrField<std::string>& modules,
                           const process::Environment& environment,
                           const std::string& working_directory, Supervisor& supervisor);

}  // namespace autodist::agent
