#include "base/typed_command.h"

#include <utility>

namespace autodist::base {
namespace {

std::string& OptionsToGetHere() {
  static std::string options;
  return options;
}

}  // namespace

void SetOptionsToGetHere(std::string options) { OptionsToGetHere() = std::move(options); }

std::string TypedCommand(std::string_view command) {
  const std::string& options = OptionsToGetHere();
  return "`autodist " + std::string(command) + (options.empty() ? "" : " " + options) + "`";
}

}  // namespace autodist::base
