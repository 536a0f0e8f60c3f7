// The `ssh` program, for logins that libssh2 does not support: jump hosts, ProxyCommand, Kerberos,
// security keys, host certificates, and other configuration of OpenSSH.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "autodist/v1/plan.pb.h"
#include "transport/transport.h"

namespace autodist::ssh {

// OpenSSH's configuration, as `ssh -G` prints it. Only ssh parses the files, so that Host, Match,
// Include and tokens mean the same as for ssh.

// Values by keyword in lower case.
using OpensshConfig = std::multimap<std::string, std::string>;

// Returns "" for a keyword that is missing or "none".
std::string ValueOf(const OpensshConfig& config, const std::string& keyword);

// The host, and the options that the command line of `ssh` would have.
struct OpensshQuery {
  std::string host;
  std::string username = {};          // empty: as configured
  std::optional<uint16_t> port = {};  // empty: as configured
  std::string hostname = {};          // empty: as configured
};

// Whether OpenSSH's configuration files, the user's in `home` or the system's, have a keyword for
// which `matters` is true. Usually none has, and `ssh -G` costs 5 ms for each host. Keywords that
// every distribution's file sets are ignored.
bool OpensshConfigMatters(const std::string& home,
                          const std::function<bool(const std::string& keyword)>& matters);

// Runs `ssh -G`, and expands tokens, variables and "~user" in names of keys and certificates.
// Blocks for a second at most, unless the files themselves run programs.
Result<OpensshConfig> QueryOpensshConfig(const OpensshQuery& query);

// Returns the output of `ssh -G` for an empty configuration. Runs it once.
const Result<OpensshConfig>& OpensshDefaults();

// Expands `text`, a file name of the configuration, as ssh would for the host.
Result<std::string> ExpandByOpenssh(const OpensshQuery& query, const std::string& text);

// Whether `ssh` has an open shared connection to the host (ControlPath).
bool HasControlConnection(const OpensshConfig& config);

// The use of an `ssh` process.
struct SshUse {
  std::string command = {};  // for the remote login shell
  bool terminal = false;     // with a remote terminal, connected to the local one
  std::string forward = {};  // argument of -L; empty: none
};

// Returns the argv of an `ssh` that logs in as `reach` says, preceded by `env` with its variables.
std::vector<std::string> SshProgramArgv(const v1::SshReach& reach, const SshUse& use);

// Returns how a user logs in there.
transport::Login LoginTo(const v1::SshReach& reach);

// Returns the argv of an `scp` for users that copies from there, without the target. Its last word
// ends with the colon, which a path follows.
std::vector<std::string> ScpArgv(const v1::SshReach& reach);

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
