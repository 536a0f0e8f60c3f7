// The `ssh` program, for what we leave to it: its configuration files, and logins by ways that
// libssh2 does not know (jump hosts, ProxyCommand, Kerberos, security keys, host certificates).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/plan.pb.h"
#include "transport/transport.h"

namespace autodist::transport {

// What `ssh -G` tells about a host: values by keyword in lower case.
using OpensshConfig = std::multimap<std::string, std::string>;

// Whether OpenSSH's configuration files, the user's in `home` or the system's, can change how a
// host is reached. Usually they cannot, and asking `ssh -G` costs 5 ms for each host.
bool OpensshConfigMatters(const std::string& home);

// Asks `ssh -G`. Blocks for a second at most, unless the files themselves run programs.
Result<OpensshConfig> QueryOpensshConfig(const std::string& host, const std::string& username,
                                         std::optional<uint16_t> port);

// What `ssh` is wanted for.
struct SshUse {
  std::string command = {};  // for the login shell there
  bool terminal = false;     // the command gets one, which is that of the person here
  std::string forward = {};  // as of -L; empty: none
};

// The words of `ssh` that log in as `reach` has it, and `env` before them, with what they need.
std::vector<std::string> SshProgramWords(const v1::SshReach& reach, const SshUse& use);

class SshProgramTransport final : public Transport {
 public:
  explicit SshProgramTransport(v1::SshReach reach) : reach_(std::move(reach)) {}

  // As of SshTransport. Whether the login succeeds shows in the stream.
  Result<std::unique_ptr<Stream>> Run(const std::vector<std::string>& argv,
                                      const std::stop_token& stop) override;

 private:
  const v1::SshReach reach_;
};

}  // namespace autodist::transport
