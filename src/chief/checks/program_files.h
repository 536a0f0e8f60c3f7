// Finds the files that a command line refers to, without running it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace autodist::chief {

struct ProgramFiles {
  // As written on the command line, or relative to the working directory: the program, the
  // arguments that name files, and the modules beside a Python script that it imports.
  std::vector<std::string> files;
  // Imported by the script and not found beside it: "torch".
  std::vector<std::string> python_modules;
  // Those of python_modules that the script and its modules import unconditionally, in order:
  // outside of blocks, and before any line that may change the module search path.
  struct Import {
    std::string module;  // "torch.distributed"
    std::string where;   // "train.py, line 3"
  };
  std::vector<Import> imports;
  // Modules whose import is guarded by an alternative.
  std::set<std::string> optional_modules;
  // The script of an interpreter, one of `files`, if it does not exist here; else empty. And the
  // existing script with the most similar name, if one is similar enough.
  std::string missing_script;
  std::string nearest_script;
};

// Reads files below `directory`, of bounded number and size. Omits files so large that they are
// data, and missing files except for a script.
ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory);

}  // namespace autodist::chief
