#include "plan/command_words.h"

#include <algorithm>

namespace autodist::plan {
namespace {

// Programs that run the program that follows.
bool IsPrefix(const std::string& name) {
  constexpr const char* kPrefixes[] = {"env",  "nice",   "nohup",  "numactl", "taskset",
                                       "time", "stdbuf", "setsid", "ionice",  "chrt"};
  return std::ranges::count(kPrefixes, name) > 0;
}

}  // namespace

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Past such programs, their options, the values of those, and assignments.
size_t ProgramAt(const std::vector<std::string>& command) {
  size_t at = 0;
  while (at < command.size() && IsPrefix(BaseName(command[at]))) {
    for (++at; at < command.size(); ++at) {
      const std::string& word = command[at];
      const bool value = word.find('=') != std::string::npos ||
                         (!word.empty() && word[0] >= '0' && word[0] <= '9');
      if (!word.starts_with('-') && !value) break;
      if (word == "-u" || word == "-C") ++at;  // env's: a variable, a folder
    }
  }
  return at;
}

PythonTarget TargetOfPython(const std::vector<std::string>& command, size_t at) {
  PythonTarget none{command.size(), ""};
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (!word.starts_with('-')) return {at, ""};
    if (word == "-") return none;
    if (word == "--check-hash-based-pycs") ++at;
    if (word.starts_with("--")) continue;
    // Short options may stand together; the first of these takes what follows it.
    const size_t option = word.find_first_of("cmWX");
    if (option == std::string::npos) continue;
    const bool ends = option + 1 == word.size();
    if (ends) ++at;
    if (word[option] == 'c') return none;
    if (word[option] == 'm' && at < command.size()) {
      return {at + 1, ends ? command[at] : word.substr(option + 1)};
    }
  }
  return none;
}

}  // namespace autodist::plan
