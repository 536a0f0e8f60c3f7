// The command line of Python.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace autodist::process {

// Returns whether a program is a Python, by the name of the file: python3, or python3.13t, which
// has no global lock; not python_train.
bool IsPython(const std::string& program);

// `python -u train.py --epochs 3`, as `python -u` and `train.py --epochs 3`.
struct PythonCommand {
  std::vector<std::string> python;   // with its options
  std::vector<std::string> program;  // a script, or "-m" and a module; and its arguments
};

// Only for scripts whose names end with ".py", and modules: nullopt for statements, folders, and
// options that are unknown or change what is run.
std::optional<PythonCommand> ParsePython(const std::vector<std::string>& argv);

}  // namespace autodist::process
