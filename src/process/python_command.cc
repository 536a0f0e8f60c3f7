#include "process/python_command.h"

#include <algorithm>
#include <string_view>

namespace autodist::process {

bool IsPython(const std::string& program) {
  std::string_view name = std::string_view(program).substr(program.rfind('/') + 1);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(std::string_view("python").size());
  name.remove_prefix(std::min(name.find_first_not_of("0123456789."), name.size()));
  return name.empty() || name == "t" || name == "d" || name == "td";
}

}  // namespace autodist::process
