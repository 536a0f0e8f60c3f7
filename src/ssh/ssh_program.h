// The `ssh` program, for logins by ways that libssh2 does not know: jump hosts, ProxyCommand,
// Kerberos, security keys, host certificates, and whatever else OpenSSH is configured to do.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "transport/transport.h"

namespace autodist::ssh {

// What `ssh` is wanted for.
struct SshUse {
  std::string command = {};  // for the login shell there
  bool terminal = false;     // the command gets one, which is that of the person here
  std::string forward = {};  // as of -L; empty: none
};

// The words of `ssh` that log in as `reach` has it, and `env` before them, with what they need.
std::vector<std::string> SshProgramArgv(const v1::SshReach& reach, const SshUse& use);

class SshProgramTransport final : public transport::Transport {
 public:
  explicit SshProgramTransport(v1::SshReach reach) : reach_(std::move(reach)) {}

  // As of SshTransport. Whether the login succeeds shows in the stream.
  Result<std::unique_ptr<transport::Stream>> Run(const std::vector<std::string>& argv,
                                                 const std::stop_token& stop) override;

 private:
  const v1::SshReach reach_;
};

}  // namespace autodist::ssh
