// Why the kernel does not execute a file, found by looking at what it looks at: the mode, the file
// system, the "#!" line and its interpreter, the machine that a binary is for. An errno does not
// say it: ENOENT of execve is about the interpreter.
#pragma once

#include <string>
#include <string_view>

#include "autodist/status.h"

namespace autodist::process {

// Where a program would run.
struct ProgramPlace {
  std::string path;               // PATH: `#!/usr/bin/env NAME` looks there
  std::string working_directory;  // an interpreter may be relative to it
};

// Ok where nothing is wrong with the file, as far as can be seen. kNotFound (a shell would end with
// 127) or kPermissionDenied (126) otherwise, with a hint. `name`: as the user wrote it. Blocks on
// the disk.
Status CheckProgramFile(const std::string& file, const std::string& name,
                        const ProgramPlace& place);

// The same of a program that FindProgram (process/spawn.h) has not found: of what the user may
// mean.
Status WhyNotFound(const std::string& program, const ProgramPlace& place);

// Whether the first line of a text file ends with a carriage return, which a shell takes for a part
// of its words.
bool EndsLinesAsWindows(const std::string& file);

// What the first line of a script asks for. Pure logic.
struct Shebang {
  std::string interpreter;       // "": the text does not begin with "#!"
  std::string argument;          // all that follows, as the kernel passes it
  bool carriage_return = false;  // the line ends as Windows has it
};
Shebang ShebangOf(std::string_view text);

// The program that `env` is asked for by such an argument: of "-S FOO=1 python3 -u", python3. "":
// it is not known.
std::string ProgramOfEnv(const std::string& argument);

}  // namespace autodist::process
