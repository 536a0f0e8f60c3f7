// What OpenSSH is configured to do, as `ssh -G` prints it. Its files are read by nobody else, so
// that Host, Match, Include and tokens mean what they mean to ssh.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "autodist/status.h"

namespace autodist::ssh {

// Values by keyword in lower case.
using OpensshConfig = std::multimap<std::string, std::string>;

// "" for a keyword that is not there, or is "none".
std::string ValueOf(const OpensshConfig& config, const std::string& keyword);

// The host, and what the command line of `ssh` would say of it.
struct OpensshQuery {
  std::string host;
  std::string username = {};          // empty: as configured
  std::optional<uint16_t> port = {};  // as above
  std::string hostname = {};          // as above
};

// Whether OpenSSH's configuration files, the user's in `home` or the system's, have a keyword for
// which `matters`. Usually they have none, and asking `ssh -G` costs 5 ms for each host. What every
// system's file sets does not count there.
bool OpensshConfigMatters(const std::string& home,
                          const std::function<bool(const std::string& keyword)>& matters);

// Asks `ssh -G`, and has the tokens, variables and "~user" in names of keys and certificates
// replaced. Blocks for a second at most, unless the files themselves run programs.
Result<OpensshConfig> QueryOpensshConfig(const OpensshQuery& query);

// What `ssh -G` prints where nothing is configured. Asked once.
const Result<OpensshConfig>& OpensshDefaults();

// `text`, a file name of the configuration, as ssh would open it for the host.
Result<std::string> ExpandByOpenssh(const OpensshQuery& query, const std::string& text);

// Whether a connection to the host is open that `ssh` would go through (ControlPath).
bool HasControlConnection(const OpensshConfig& config);

}  // namespace autodist::ssh
