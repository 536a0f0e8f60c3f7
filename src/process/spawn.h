// Starting processes, and waiting for their end.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "process/environment.h"

namespace autodist::process {

struct SpawnRequest {
  // argv[0] is searched in the PATH of `environment`, or in /usr/bin and /bin if that has none.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  // Descriptors given to the child, still owned by the caller; -1: /dev/null.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int extra_fd = -1;  // becomes descriptor 3; -1: none
  // It is to run on these CPUs alone, numbered as the kernel does; where the kernel has none of
  // them for it, or where there are none here, it runs on ours.
  std::vector<uint32_t> cpus;
  // Whether the kernel kills it when the *thread* that calls Spawn ends; so call it on a thread
  // that lives as long as the program should.
  bool dies_with_thread = true;
  // Else it is in ours: it may read from our terminal, whose Ctrl-C reaches it.
  bool own_process_group = true;
  // In a session of its own, and so without a terminal, whatever it opens.
  bool own_session = false;
  // In a session of its own whose terminal is the one that it has as stdin.
  bool terminal_of_stdin = false;
};

// Starts the program with default signal handling and no other descriptor of ours.
//
// Blocks until the program has been executed, a millisecond or so. Fails with kNotFound or
// kPermissionDenied if it cannot be.
Result<pid_t> Spawn(const SpawnRequest& request);

// A request to run argv in our working directory.
SpawnRequest OurProgram(std::vector<std::string> argv,
                        const Environment& environment = Environment::FromStrings(environ));

// A descriptor that becomes readable when our child has ended, which is left to Reap.
Result<base::UniqueFd> EndOf(pid_t child);

// Blocks until our child has ended, and takes it away. Its status, as waitpid gives it.
int Reap(pid_t child);

// What a shell makes of such a status: the exit code, or 128 + n after signal n.
int ExitCode(int wait_status);

// Where execvp would find `program`: the first executable in `path`, or `program` itself if it
// contains a '/', taken from `working_directory`. Fails with kNotFound, or with
// kPermissionDenied if a file is there that may not be executed.
Result<std::string> FindProgram(const std::string& program, const std::string& path,
                                const std::string& working_directory);

}  // namespace autodist::process
