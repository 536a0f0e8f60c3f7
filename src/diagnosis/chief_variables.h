// Variables of the shell that autodist was started in, which ranks of other nodes do not get: those
// start from a clean login. Names alone: no value is looked at, sent or shown. Pure logic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autodist::diagnosis {

// Of a shell's variables those that a program may need: without what belongs to the session or the
// machine (TERM, SSH_*, PATH, ...), and what autodist sets itself. Sorted, of bounded number.
std::vector<std::string> NamesToCompare(const std::vector<std::string>& names);

// Those of the names that a text has as whole words, in the order of the names.
std::vector<std::string> NamesIn(std::string_view text, const std::vector<std::string>& names);

// Of variables that a failed rank did not get, those that may be why: what it wrote mentions them,
// or else is of the kind that their absence leads to.
std::vector<std::string> LikelyMissed(std::string_view wrote,
                                      const std::vector<std::string>& names);

// "HF_TOKEN, HTTPS_PROXY and WANDB_API_KEY"; of very many the first ones.
std::string NamesAsText(const std::vector<std::string>& names);

}  // namespace autodist::diagnosis
