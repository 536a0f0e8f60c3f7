// Completes a command line of autodist for the shell scripts in src/cli/completion, which run
// `autodist complete -- WORD...`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/embedded_file.h"
#include "cli/command_tree.h"

namespace autodist::cli {

struct Completion {
  // The shell completes all kinds except kWords itself.
  enum class Kind { kWords, kFiles, kFolders, kVariables, kProgram };
  struct Word {
    std::string text;  // replaces the word under the cursor
    std::string about;
  };

  Kind kind = Kind::kWords;
  std::vector<Word> words;  // for kWords
  size_t program = 0;       // for kProgram: where the program begins, from 1
};

// `words`: the words after "autodist" up to the cursor, which is in the last one; bash also splits
// them at '='. `jobs` is called only where a job can be given. Pure logic.
Completion CompletionOf(const CommandTree& tree, const std::vector<std::string>& words,
                        const std::function<std::vector<Completion::Word>()>& jobs);

// "autodist.bash", ...
std::span<const base::EmbeddedFile> CompletionScripts();

}  // namespace autodist::cli
