// What a command line of autodist may go on with, for the shells' scripts (src/cli/completion),
// which ask for it by `autodist complete -- WORD...`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/embedded_file.h"
#include "cli/command_tree.h"

namespace autodist::cli {

struct Completion {
  // What the shell knows of itself, and what it does not.
  enum class Kind { kWords, kFiles, kFolders, kVariables, kProgram };
  struct Word {
    std::string text;  // in place of the one under the cursor
    std::string about;
  };

  Kind kind = Kind::kWords;
  std::vector<Word> words;  // of kWords
  size_t program = 0;       // of kProgram: the word that begins it, from 1 on
};

// `words`: those after "autodist", up to the cursor, which is in the last one. They may have been
// split at '=', as bash does. `jobs`: those that there are, asked for where one may stand. Pure
// logic.
Completion CompletionOf(const CommandTree& tree, const std::vector<std::string>& words,
                        const std::function<std::vector<Completion::Word>()>& jobs);

// "autodist.bash", ...
std::span<const base::EmbeddedFile> CompletionScripts();

}  // namespace autodist::cli
