// The effect of each keyword of ssh_config(5), of OpenSSH 9.2 and some newer ones, as
// docs/reference/ssh_config.md shows it; and the effect of a node's configuration on its logins.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace autodist::plan {

enum class KeywordUse {
  kHonoured,
  kHandedOver,  // if it is set, the node is reached through the ssh program
  kNamed,       // if it is set, a warning says that it has no effect
  kIrrelevant,  // no effect on logins that run a command without asking for anything
};

struct SshKeyword {
  using Values = std::vector<std::string>;

  std::string_view name;  // as ssh_config(5) writes it
  KeywordUse use;
  std::string_view how;  // how it is applied, or why not
  // For kHandedOver and kNamed: whether the values have no effect.
  bool (*harmless)(const Values& values) = nullptr;
};

// Sorted by name.
std::span<const SshKeyword> SshKeywords();

// Finds the keyword, in upper or lower case; null: OpenSSH has added it later.
const SshKeyword* FindSshKeyword(std::string_view name);

// The output of `ssh -G` for a host: values by keyword in lower case.
using OpensshValues = std::multimap<std::string, std::string>;

struct SshConfigUse {
  // Why the node is reached through the ssh program: "BindAddress 10.0.0.1".
  std::vector<std::string> handed_over;
  // Settings without effect, with the reason: "ForwardAgent yes: ranks outlive ...".
  std::vector<std::string> not_used;
};

// Evaluates the differences from `defaults`, OpenSSH's. An unknown keyword is handed over.
SshConfigUse UseOf(const OpensshValues& configured, const OpensshValues& defaults);

// Whether the keyword in a configuration file can change autodist's logins, or cause a warning.
bool KeywordMatters(const std::string& keyword);

}  // namespace autodist::plan
