// Finds variables of autodist's shell that ranks on other nodes lack, because those start from a
// clean login. Uses only names: values are never read, sent or shown. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::diagnosis {

// Selects the variables that a program may need: drops those of the session or the machine (TERM,
// SSH_*, PATH, ...) and those that autodist sets. Sorted; bounded in number.
std::vector<std::string> NamesToCompare(const std::vector<std::string>& names);

// The names that occur as whole words in the text, in the order of `names`.
std::vector<std::string> NamesIn(std::string_view text, const std::vector<std::string>& names);

// Selects the variables whose absence may explain a rank's failure: those that its last output
// mentions, or else those that lead to this kind of failure. `reason`: its message in one line.
std::vector<std::string> LikelyMissed(std::string_view reason, std::string_view wrote,
                                      const std::vector<std::string>& names);

}  // namespace autodist::diagnosis
