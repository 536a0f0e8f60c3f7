// Which files a command line is about, as far as can be told without running it.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace autodist::chief {

struct ProgramFiles {
  // As the command line writes them, or relative to the working directory: the program, the
  // arguments that name files, and the modules beside a Python script that it imports.
  std::vector<std::string> files;
  // Imported by the script and not found beside it: "torch".
  std::vector<std::string> python_modules;
  // Of these, what the script and its modules import in any case, in their order: not within a
  // block, nor after a line that may change where modules are found.
  struct Import {
    std::string module;  // "torch.distributed"
    std::string where;   // "train.py, line 3"
  };
  std::vector<Import> imports;
  // Of the modules, those that are imported only where something else is done if there are none.
  std::set<std::string> optional_modules;
  // The script that an interpreter is to run, one of `files`, where it is not here; else empty. And
  // the script here whose name is nearest to it, if one is near enough.
  std::string missing_script;
  std::string nearest_script;
};

// Reads files below `directory`, of bounded number and size. Files so large that they are data are
// left out, and so is what does not exist, but for a script.
ProgramFiles FilesOfProgram(const std::vector<std::string>& argv, const std::string& directory);

}  // namespace autodist::chief
