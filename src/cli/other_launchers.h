// What the options of other launchers are here, for who types them out of habit.
#pragma once

#include <optional>
#include <string>

namespace autodist::cli {

struct OptionHere {
  std::string launcher;  // whose the option is
  std::string option;    // ours, with its value; empty: it is not needed
  std::string more;      // behind that: what else is to be known
};

// `word` as it was typed, "--nproc_per_node=4" or "-np"; `next` is the word after it, or "". What
// was typed as a value is in the answer where it makes sense. nullopt: no launcher is known to have
// such an option.
std::optional<OptionHere> OptionOfAnotherLauncher(const std::string& word, const std::string& next);

// Whether `next` is the value of an option that `word` is elsewhere, and not the program.
bool TakesValue(const std::string& word, const std::string& next);

// Which of our commands does what another program calls by this name, as a sentence; "" where none
// is known.
std::string CommandHere(const std::string& word);

}  // namespace autodist::cli
