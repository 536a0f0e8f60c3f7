// Recognizes Python by the name of a program.
#pragma once

#include <string>

namespace autodist::process {

// Returns whether a program is a Python, by the name of the file: python3, or python3.13t, which
// has no global lock; not python_train.
bool IsPython(const std::string& program);

}  // namespace autodist::process
