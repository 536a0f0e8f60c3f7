// The `ssh` program, for logins that libssh2 does not support: jump hosts, ProxyCommand, Kerberos,
// security keys, host certificates, and other configuration of OpenSSH.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "transport/transport.h"

namespace autodist::ssh {

// The use of an `ssh` process.
struct SshUse {
  std::string command = {};  // for the remote login shell
  bool terminal = false;     // with a remote terminal, connected to the local one
  std::string forward = {};  // argument of -L; empty: none
};

// Returns the argv of an `ssh` that logs in as `reach` says, preceded by `env` with its variables.
std::vector<std::string> SshProgramArgv(const v1::SshReach& reach, const SshUse& use);

class SshProgramTransport final : public transport::Transport {
 public:
  explicit SshProgramTransport(v1::SshReach reach) : reach_(std::move(reach)) {}

  // See SshTransport. The stream shows whether the login succeeds.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  const v1::SshReach reach_;
};

}  // namespace autodist::ssh
