// The words of a command line, as far as can be told without running it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace autodist::plan {

// "/usr/bin/python3" → "python3".
std::string BaseName(const std::string& path);

// Where the program stands, past `env`, `nice`, `numactl` and the like; the number of words where
// there is none.
size_t ProgramAt(const std::vector<std::string>& command);

// What a Python is told to run.
struct PythonTarget {
  size_t at = 0;       // of the word with the script, or of the first one after the module
  std::string module;  // "": a script, or where `at` is beyond the words, nothing of the two
};
// `at`: the first word after the Python.
PythonTarget TargetOfPython(const std::vector<std::string>& command, size_t at);

}  // namespace autodist::plan
