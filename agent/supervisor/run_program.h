// Runs a program of the node to its end and captures its output.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/supervisor/supervisor.h"
#include "autodist/status.h"
#include "process/environment.h"

namespace autodist::agent {

struct ProgramCommand {
  std::vector<std::string> argv;  // argv[0] is looked up in the PATH of `environment`
  process::Environment environment;
  std::string working_directory;
  // Whether the result is on descriptor 3; then both stdout and stderr are for users.
  bool result_on_descriptor_3 = false;
  std::stop_token stop = {};  // kills it
};

struct ProgramOutput {
  std::string failure;  // "ended with status 1"; empty: it ended with status 0
  int exit_code = -1;   // -1: a signal ended it
  bool timed_out = false;
  std::string result;
  std::string said;  // for users: the last part, without trailing line breaks
};

// Blocks until the program has ended; kills it at the limit, or when it writes more than
// kMaxWritten bytes. Fails if the program cannot be started, or cannot be ended. Several threads
// may run programs concurrently.
Result<ProgramOutput> RunProgram(const ProgramCommand& command, std::chrono::milliseconds limit,
                                 Supervisor& supervisor);

inline constexpr size_t kMaxWritten = 16 << 20;  // bytes

}  // namespace autodist::agent
