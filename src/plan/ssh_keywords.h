// What becomes of each keyword of ssh_config(5), of OpenSSH 9.2 and those that later releases have
// added. Pure data, which docs/ssh_config.md shows.
#pragma once

#include <functional>
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

}  // namespace autodist::plan
