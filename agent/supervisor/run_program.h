// Runs a program of the node to its end and keeps what it writes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"
#include "process/environment.h"

namespace autodist::agent {

struct ProgramCommand {
  std::vector<std::string> argv;  // argv[0] is searched in the PATH of `environment`
  process::Environment environment;
  std::string working_directory;
  // Where the program writes its result: standard output is for people then, as standard error.
  bool result_on_descriptor_3 = false;
};

struct ProgramOutput {
  std::string failure;  // "ended with status 1"; empty: it ended with status 0
  bool timed_out = false;
  std::string result;
  std::string said;  // to people: the end of it, without the last line breaks
};

// Blocks until the program has ended; it is killed at the limit, or when it writes more than
// kMaxWritten bytes. Fails if the program cannot be started, or cannot be ended. Any number of
// threads may run programs at the same time.
Result<ProgramOutput> RunProgram(const ProgramCommand& command, std::chrono::milliseconds limit,
                                 Supervisor& supervisor);

inline constexpr size_t kMaxWritten = 16 << 20;  // bytes

}  // namespace autodist::agent
