#include "plan/script.h"

#include <algorithm>

#include "plan/command_words.h"
#include "plan/known_launchers.h"

namespace autodist::plan {
namespace {

using Words = std::vector<std::string>;

bool IsShell(const std::string& name) {
  constexpr const char* kShells[] = {"sh", "bash", "dash", "ksh", "zsh"};
  return std::ranges::count(kShells, name) > 0;
}

// A shell looks for a script without a folder in PATH, too, so only what is called like one counts.
std::string ScriptOfShell(const Words& command, size_t at) {
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    const bool option = word.starts_with('-') || word.starts_with('+');
    if (!option) return word.find('/') != std::string::npos || word.ends_with(".sh") ? word : "";
    if (word == "-" || (!word.starts_with("--") && word.find_first_of("cs") != std::string::npos)) {
      return "";
    }
    if (word == "--rcfile" || word == "--init-file" || word.ends_with('o') || word.ends_with('O')) {
      ++at;
    }
  }
  return "";
}

// Their options are many, but no value of one ends like a script.
std::string ScriptOfLauncher(const Words& command, size_t at) {
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (word == "-m" || word == "--module" || word == "--no-python" || word == "--no_python") break;
    if (!word.starts_with('-') && word.ends_with(".py")) return word;
  }
  return "";
}

}  // namespace

Script ScriptIn(const Words& command) {
  const size_t at = ProgramAt(command);
  if (at >= command.size()) return {};
  const std::string program = BaseName(command[at]);
  if (IsShell(program)) return {ScriptOfShell(command, at + 1), ""};
  const auto launcher = LauncherIn(command);
  if (!program.starts_with("python")) {
    // Those that start a program once per job reach the nodes in ways of their own.
    const bool starts_scripts = launcher && launcher->kind == v1::PROGRAM_KIND_PER_NODE;
    return {starts_scripts ? ScriptOfLauncher(command, at + 1) : "", ""};
  }
  const PythonTarget target = TargetOfPython(command, at + 1);
  if (target.module.empty()) return {target.at < command.size() ? command[target.at] : "", ""};
  if (launcher) return {ScriptOfLauncher(command, target.at), ""};
  return {"", target.module};
}

}  // namespace autodist::plan
