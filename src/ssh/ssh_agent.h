// The client of an ssh-agent, the user's or this run's (protocol: draft-miller-ssh-agent), and the
// agent of this run.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "autodist/status.h"
#include "base/fd.h"
#include "ssh/ssh_public_key.h"

namespace autodist::ssh {

// A public key or certificate whose private key the agent holds.
struct AgentKey {
  std::string blob;
  std::string comment;
};

// Thread-safe: every request uses a separate connection. Calls block, within time limits that leave
// the user time to confirm.
class SshAgent {
 public:
  // Includes a confirmation by the user.
  static constexpr std::chrono::milliseconds kSignLimit{60'000};

  // `socket` is the value of SSH_AUTH_SOCK.
  explicit SshAgent(std::string socket, std::chrono::milliseconds sign_limit = kSignLimit)
      : socket_(std::move(socket)), sign_limit_(sign_limit) {}

  // Lists the keys in the agent's order. A locked agent reports none.
  Result<std::vector<AgentKey>> Keys() const;

  // Returns the raw signature by the key with this blob. kUnimplemented if the agent does not sign
  // with this algorithm, which is one of plain keys. `stop` makes it return early.
  Result<std::string> Sign(std::string_view blob, std::string_view algorithm, std::string_view data,
                           const std::stop_token& stop = {}) const;

 private:
  const std::string socket_;
  const std::chrono::milliseconds sign_limit_;
};

// A key in the agent as an identity for logins.
class AgentIdentity final : public SshIdentity {
 public:
  AgentIdentity(std::string socket, std::string blob, std::string description)
      : agent_(std::move(socket)), blob_(std::move(blob)), description_(std::move(description)) {}

  const std::string& public_blob() const override { return blob_; }
  const std::string& description() const override { return description_; }
  bool slow() const override { return true; }
  Result<std::string> SignRequest(std::string_view request,
                                  const std::stop_token& stop) const override;

 private:
  const SshAgent agent_;
  const std::string blob_;
  const std::string description_;
};

// A private ssh-agent of this run for encrypted keys: OpenSSH asks for the passphrase, decrypts the
// key and keeps it.
//
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
