// Starts processes and waits for their end.
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
  // argv[0] is looked up in the PATH of `environment`, or in /usr/bin and /bin without a PATH.
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // "NAME=value"
  std::string working_directory;
  // Descriptors for the child, still owned by the caller; -1: /dev/null.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int extra_fd = -1;  // becomes descriptor 3; -1: none
  // The CPUs to run on, in the kernel's numbering. If empty, or if none of them is available, the
  // child runs on the CPUs of this process.
  std::vector<uint32_t> cpus;
  // Whether the kernel kills the child when the *thread* that calls Spawn ends; call it on a thread
  // that lives as long as the program should.
  bool dies_with_thread = true;
  // If false, the child stays in our process group: it may read from our terminal and gets its
  // Ctrl-C.
  bool own_process_group = true;
  // Starts a new session, so that the child has no terminal, even if it opens one.
  bool own_session = false;
  // Starts a new session whose terminal is the child's stdin.
  bool terminal_of_stdin = false;
};

// Starts the program with default signal handling, and closes all other descriptors.
//
// Blocks until the program has been executed, about a millisecond. Fails with kNotFound or
// kPermissionDenied if it cannot be executed.
Result<pid_t> Spawn(const SpawnRequest& request);

// Returns a request that runs argv in our working directory.
SpawnRequest OurProgram(std::vector<std::string> argv,
                        const Environment& environment = Environment::FromStrings(environ));

// Returns a descriptor that becomes readable when our child has ended; Reap must still be called.
Result<base::UniqueFd> EndOf(pid_t child);

// Blocks until our child has ended, and reaps it. Returns the status of waitpid.
int Reap(pid_t child);

// Converts such a status as a shell does: the exit code, or 128 + n after signal n.
int ExitCode(int wait_status);

// Returns what execvp would find: the first executable `program` in `path`, or `program` itself,
// relative to `working_directory`, if it contains a '/'. Fails with kNotFound, or with
// kPermissionDenied if the file exists but may not be executed.
Result<std::string> FindProgram(const std::string& program, const std::string& path,
                                const std::string& working_directory);

// Raises the soft limit of open files to
// the hard limit: a job needs two log files for each rank, and one or two sockets for each node.
// Children started with Spawn keep the original limit, since some programs iterate over all
// possible descriptors and select() is limited to 1024.
void RaiseFileLimit();

// Restores the original limit, in a child before it executes a program. Makes only system calls.
void RestoreFileLimit();

}  // namespace autodist::process
