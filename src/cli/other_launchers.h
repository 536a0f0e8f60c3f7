// Translates options and commands of other launchers, for users who type them out of habit.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::cli {

struct OptionHere {
  std::string launcher;  // the launcher that has the option
  std::string option;    // autodist's option with its value; empty: not needed
  std::string more;      // advice that follows the option
};

// `word`: the option as it was typed, "--nproc_per_node=4" or "-np"; `next`: the word after it, or
// "". The answer contains the typed value if it is valid. nullopt: no known launcher has the
// option.
std::optional<OptionHere> OptionOfAnotherLauncher(const std::string& word, const std::string& next);

// Whether `next` is the value of the other launcher's option `word`, and not the program.
bool TakesValue(const std::string& word, const std::string& next);

// Returns the long name, here or there, of a short option of sbatch: "--nodes" for "-N3"; or "".
std::string LongSbatchOption(const std::string& word);

// kInvalidArgument: srun or an mpirun has started this process as one of several tasks, each of
// which may start the whole job. OK for a rank of autodist. `variable`: returns the value of an
// environment variable. Pure logic.
Status CheckStartedOnce(
    const std::function<std::optional<std::string>(const std::string& name)>& variable);
// The same in the environment of this process.
Status CheckStartedOnce();

// Returns a sentence with autodist's equivalent of another program's command; "" if unknown.
std::string CommandHere(const std::string& word);
// The words that CommandHere knows.
std::vector<std::string> CommandsOfOthers();

}  // namespace autodist::cli
