// Encrypts the job's key for the tasks of a Slurm step, because srun's streams are not encrypted.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::slurm {

// Returns the key line as a munge credential on one line, which only programs of this user can
// decrypt, on machines with munged's key. `socket`: munged's, "" for the default one. Runs `munge`;
// blocks for 30 seconds at most.
Result<std::string> SealedKeyLine(const std::string& key_line, const std::string& socket);

}  // namespace autodist::slurm
