// Recognizes Python by the name of a program, and what it runs by its arguments.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace autodist::base {

// Returns whether a program is a Python, by the name of the file: python3, or python3.13t, which
// has no global lock; not python_train.
bool IsPython(const std::string& program);

// What a Python interpreter runs.
struct PythonTarget {
  size_t at = 0;       // of the script, or of the first argument after the module
  std::string module;  // "": a script, or neither, if `at` is the size of the command
};

// `at`: the first argument after the Python.
PythonTarget TargetOfPython(const std::vector<std::string>& command, size_t at);

}  // namespace autodist::base
