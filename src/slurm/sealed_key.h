// The job's key on its way to the tasks of a Slurm step: srun's streams are not encrypted.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::slurm {

// The key line as a credential of munge, on one line, which programs of this user alone can open,
// on machines that have munged's key. `socket`: munged's, "" the default one. Runs the program
// `munge`; blocks for 30 seconds at most.
Result<std::string> SealedKeyLine(const std::string& key_line, const std::string& socket);

}  // namespace autodist::slurm
