// Commands of autodist in hints, as the reader has to type them: a command that another machine
// sent here (--chief-on) is answered where it was typed, and there a command needs the same
// options.
#pragma once

#include <string>
#include <string_view>

namespace autodist::base {

// Sets "--spec lab.yaml --chief-on first". Call it before other threads start.
void SetOptionsToGetHere(std::string options);

// Returns "`autodist ps --all`", with these options.
std::string TypedCommand(std::string_view command);

}  // namespace autodist::base
