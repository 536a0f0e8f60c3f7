// What becomes of each keyword of ssh_config(5), of OpenSSH 9.2 and those that later releases have
// added, as docs/ssh_config.md shows it; and what a node's configuration means for its logins.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::plan {

enum class KeywordUse {
  kHonoured,
  kHandedOver,  // where it is set, the node is reached through the ssh program
  kNamed,       // where it is set, a warning says that it is not used
  kIrrelevant,  // without effect on logins that run a command and ask for nothing
};

struct SshKeyword {
  using Values = std::vector<std::string>;

  std::string_view name;  // as ssh_config(5) writes it
  KeywordUse use;
  std::string_view how;  // by what, or why not
  // Of one that is handed over or named: values for which that is not needed.
  bool (*harmless)(const Values& values) = nullptr;
};

// In the order of their names.
std::span<const SshKeyword> SshKeywords();

// The keyword, in upper or lower case; null: OpenSSH has added it since.
const SshKeyword* FindSshKeyword(std::string_view name);

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
