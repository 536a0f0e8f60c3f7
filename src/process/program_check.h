// Finds out why the kernel does not execute a file. Checks what the kernel checks: the mode, the
// file system, the "#!" line and its interpreter, and the architecture of a binary. An errno is
// ambiguous: ENOENT of execve may be about the interpreter.
#pragma once

#include <string>
#include <string_view>

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

// The same for a program that FindProgram (process/spawn.h) has not found; suggests what the user
// may have meant.
Status WhyNotFound(const std::string& program, const ProgramPlace& place);

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
