// Starting a process that dies with us.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::process {

struct SpawnRequest {
  std::vector<std::string> argv;         // argv[0] is searched in the PATH of `environment`
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  // Descriptors given to the child, still owned by the caller; -1: /dev/null.
  int stdout_fd = -1;
  int stderr_fd = -1;
  int extra_fd = -1;  // becomes descriptor 3; -1: none
};

// Starts the program in a process group of its own, with default signal handling and no other
// descriptor of ours. The kernel kills it when the *thread* that called Spawn ends, so call it on
// a thread that lives as long as the program should.
//
// Returns the process id at once: a program that then cannot be executed says so on its stderr
// and exits with 126 or 127, as under a shell.
Result<pid_t> Spawn(const SpawnRequest& request);

// The first argument by which a program that uses Spawn is asked to run ExecChild; such a
// program's main must pass the call on, because Spawn starts the program itself again to set up
// what posix_spawn cannot.
inline constexpr char kExecChild[] = "exec-child";
int ExecChild(int argc, char** argv);

// Where execvp would find `program`: the first executable in `path`, or `program` itself if it
// contains a '/', taken from `working_directory`. Fails with kNotFound, or with
// kPermissionDenied if a file is there that may not be executed.
Result<std::string> FindProgram(const std::string& program, const std::string& path,
                                const std::string& working_directory);

}  // namespace autodist::process
