#include "process/python_command.h"

#include <algorithm>
#include <string_view>

namespace autodist::process {
namespace {

constexpr std::string_view kFlags = "bBdEIOPqRsSuv";
constexpr std::string_view kWithValue = "WX";

}  // namespace

bool IsPython(const std::string& program) {
  std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(std::string_view("python").size());
  name.remove_prefix(std::min(name.find_first_not_of("0123456789."), name.size()));
  return name.empty() || name == "t" || name == "d" || name == "td";
}

std::optional<PythonCommand> ParsePython(const std::vector<std::string>& argv) {
  if (argv.empty() || !IsPython(argv[0])) return std::nullopt;
  PythonCommand command{{argv[0]}, {}};
  const auto rest = [&argv](size_t from) {
    return std::vector(argv.begin() + static_cast<ptrdiff_t>(from), argv.end());
  };
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& argument = argv[i];
    if (!argument.starts_with('-')) {
      command.program = rest(i);
      if (argument.ends_with(".py")) return command;
      return std::nullopt;
    }
    if (argument.size() == 1) return std::nullopt;  // the program is stdin
    const size_t end = argument.find_first_not_of(kFlags, 1);
    if (end == std::string::npos) {
      command.python.push_back(argument);
      continue;
    }
    const bool value_follows = end + 1 == argument.size();
    if (value_follows && i + 1 == argv.size()) return std::nullopt;
    if (kWithValue.find(argument[end]) != std::string_view::npos) {
      command.python.push_back(argument);
      if (value_follows) command.python.push_back(argv[++i]);
    } else if (argument[end] == 'm') {
      if (end > 1) command.python.push_back(argument.substr(0, end));
      command.program = rest(i + 1);
      if (!value_follows) {
        command.program.insert(command.program.begin(), argument.substr(end + 1));
      }
      command.program.insert(command.program.begin(), "-m");
      return command;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace autodist::process
