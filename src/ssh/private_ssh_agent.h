// An ssh-agent of this run's own, for keys that are encrypted: OpenSSH asks for the passphrase,
// decrypts the key and keeps it.
#pragma once

#include <string>

#include "autodist/status.h"
#include "base/fd.h"

namespace autodist::ssh {

// Ends with the process that started it and all that it has forked, however they end. For one
// thread at a time.
class PrivateSshAgent {
 public:
  // Fails with kFailedPrecondition, and a remedy, as where OpenSSH's client is not installed.
  static Result<PrivateSshAgent> Start();

  const std::string& socket() const { return socket_; }

  // Runs ssh-add, which asks the person at the terminal for the passphrase until it fits or is
  // empty, or has the program of SSH_ASKPASS ask, as it does in the background. Blocks for some
  // minutes at most; Ctrl-C then ends ssh-add, and us after it. Fails with kFailedPrecondition,
  // and a remedy, if the key cannot be decrypted.
  Status Add(const std::string& key_file) const;

 private:
  static Result<PrivateSshAgent> Launch(int stderr_fd);
  PrivateSshAgent(base::UniqueFd life, std::string socket)
      : life_(std::move(life)), socket_(std::move(socket)) {}

  base::UniqueFd life_;  // the agent ends when no process holds it any more
  std::string socket_;
};

}  // namespace autodist::ssh
