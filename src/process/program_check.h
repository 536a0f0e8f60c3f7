// Finds out why the kernel does not execute a file. Checks what the kernel checks: the mode, the
// file system, the "#!" line and its interpreter, and the architecture of a binary. An errno is
// ambiguous: ENOENT of execve may be about the interpreter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"

namespace autodist::process {

// The environment in which a program would run.
struct ProgramPlace {
  std::string path;               // PATH, for `#!/usr/bin/env NAME`
  std::string working_directory;  // for relative paths of interpreters
};

// Returns OK if no issue is visible; otherwise kNotFound (a shell would exit with 127) or
// kPermissionDenied (126), with a hint. `name`: as the user wrote it. Blocks on the disk.
Status CheckProgramFile(const std::string& file, const std::string& name,
                        const ProgramPlace& place);

// The same for a file that will be copied to other machines: finds only what prevents it from
// running on any of them.
Status CheckProgramToCopy(const std::string& file, const std::string& name);

// The same for a program that FindProgram (process/spawn.h) has not found; suggests what the user
// may have meant.
Status WhyNotFound(const std::string& program, const ProgramPlace& place);

// Whether it is a command line that was quoted as one word: no file has that name, and its first
// word is a program.
bool IsCommandLine(const std::string& program, const ProgramPlace& place);

// What a program needs besides its file: the interpreter of a script, or the loader of a binary.
struct ProgramNeed {
  std::string program;  // a path, or a name to be found in PATH
  Status missing;       // the error if it is not there, as CheckProgramFile returns it
};

// Returns nullopt if the file needs nothing, or if that is not known. `name`: as the user wrote it.
std::optional<ProgramNeed> NeedOf(const std::string& file, const std::string& name);

// Returns the loader that a 64-bit binary names; "" for other files, such as static binaries.
std::string LoaderOf(const std::string& file);

// Reads what the loader prints on stderr with `--list`. Returns the library that it does not find,
// in its own words, with a hint; OK if it finds all, or prints something else. Pure logic.
Status LibrariesMissing(const std::string& name, std::string_view said);

// Checks what Linux accepts for execve: the size of each string, and of all together. Otherwise
// kInvalidArgument, with a hint. `limit`: the max size of a stack (`ulimit -s`), in bytes.
Status CheckSizeOfArguments(const std::vector<std::string>& argv,
                            const std::vector<std::string>& environment, uint64_t limit);

// Whether the first line of a text file ends with a carriage return, which a shell would treat as
// part of the last argument.
bool EndsLinesAsWindows(const std::string& file);

// The contents of the first line of a script. Pure logic.
struct Shebang {
  std::string interpreter;       // "": the text does not begin with "#!"
  std::string argument;          // the rest of the line, as the kernel passes it
  bool carriage_return = false;  // the line ends with "\r\n"
};
Shebang ShebangOf(std::string_view text);

// Returns the program in such an argument of `env`: for "-S FOO=1 python3 -u", python3. "":
// unknown.
std::string ProgramOfEnv(const std::string& argument);

}  // namespace autodist::process
