// A private ssh-agent of this run for encrypted keys: OpenSSH asks for the passphrase, decrypts the
// key and keeps it.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::ssh {

// The agent ends after the process that started it and all its forks have ended, in any way. For
// one thread at a time.
class PrivateSshAgent {
 public:
  // Fails with kFailedPrecondition and a hint, for example if OpenSSH's client is not installed.
  static Result<PrivateSshAgent> Start();

  const std::string& socket() const { return socket_; }

  // Runs ssh-add, which asks at the terminal for the passphrase until it is right or empty, or,
  // also in the background, runs the program of SSH_ASKPASS. Blocks for minutes; Ctrl-C then ends
  // ssh-add, and afterwards this process. Fails with kFailedPrecondition and a hint if the key
  // cannot be decrypted.
  Status Add(const std::string& key_file) const;

 private:
  static Result<PrivateSshAgent> Launch(int stderr_fd);
  PrivateSshAgent(base::UniqueFd life, std::string socket)
      : life_(std::move(life)), socket_(std::move(socket)) {}

  base::UniqueFd life_;  // the agent ends when all processes have closed it
  std::string socket_;
};

}  // namespace autodist::ssh
