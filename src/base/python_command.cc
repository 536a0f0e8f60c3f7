#include "base/python_command.h"

#include <algorithm>
#include <string_view>

namespace autodist::base {

bool IsPython(const std::string& program) {
  std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(std::string_view("python").size());
  name.remove_prefix(std::min(name.find_first_not_of("0123456789."), name.size()));
  return name.empty() || name == "t" || name == "d" || name == "td";
}

PythonTarget TargetOfPython(const std::vector<std::string>& command, size_t at) {
  PythonTarget none{command.size(), ""};
  for (; at < command.size(); ++at) {
    const std::string& word = command[at];
    if (!word.starts_with('-')) return {at, ""};
    if (word == "-") return none;
    if (word == "--check-hash-based-pycs") ++at;
    if (word.starts_with("--")) continue;
    // Short options may be combined; the first of these takes the following argument.
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

}  // namespace autodist::base
