// The job's key as it comes to the task of a Slurm step: as a credential of munge.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::agent {

// What is in the credential, if it was made by this user. `socket`: munged's, "" the default one.
// Runs the program `unmunge`; blocks for half a minute at most.
Result<std::string> OpenSealedKey(const std::string& credential, const std::string& socket);

}  // namespace autodist::agent
