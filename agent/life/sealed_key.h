// Decrypts the job's key for a task of a Slurm step, which is a munge credential.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::agent {

// Returns the content of the credential if it was created by this user. `socket`: munged's, "" for
// the default one. Runs `unmunge`; blocks for half a minute at most.
Result<std::string> OpenSealedKey(const std::string& credential, const std::string& socket);

}  // namespace autodist::agent
