// What a node's OpenSSH configuration means for its logins.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace autodist::plan {

// What `ssh -G` prints of a host: values by keyword in lower case.
using OpensshValues = std::multimap<std::string, std::string>;

struct SshConfigUse {
  // Why the node is reached through the ssh program, as configured: "BindAddress 10.0.0.1".
  std::vector<std::string> handed_over;
  // What is not used, and why: "ForwardAgent yes: ranks outlive ...".
  std::vector<std::string> not_used;
};

// Of what differs from `defaults`, OpenSSH's own. A keyword that is not known is handed over.
SshConfigUse UseOf(const OpensshValues& configured, const OpensshValues& defaults);

// Whether the keyword, where it stands in a configuration file, can change how autodist logs in, or
// is to be named.
bool KeywordMatters(const std::string& keyword);

}  // namespace autodist::plan
