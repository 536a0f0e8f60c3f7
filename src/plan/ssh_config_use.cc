#include "plan/ssh_config_use.h"

#include <absl/strings/str_join.h>

#include <algorithm>

#include "plan/ssh_keywords.h"

namespace autodist::plan {
namespace {

std::vector<std::string> ValuesOf(const OpensshValues& config, const std::string& keyword) {
  std::vector<std::string> values;
  const auto [first, last] = config.equal_range(keyword);
  for (auto it = first; it != last; ++it) values.push_back(it->second);
  std::ranges::sort(values);
  return values;
}

}  // namespace

SshConfigUse UseOf(const OpensshValues& configured, const OpensshValues& defaults) {
  SshConfigUse use;
  for (auto it = configured.begin(); it != configured.end();
       it = configured.upper_bound(it->first)) {
    const std::vector<std::string> values = ValuesOf(configured, it->first);
    if (values == ValuesOf(defaults, it->first)) continue;
    const SshKeyword* const keyword = FindSshKeyword(it->first);
    if (keyword && keyword->harmless && keyword->harmless(values)) continue;
    const std::string text =
        std::string(keyword ? keyword->name : it->first) + " " + absl::StrJoin(values, " ");
    if (!keyword || keyword->use == KeywordUse::kHandedOver) {
      use.handed_over.push_back(text);
    } else if (keyword->use == KeywordUse::kNamed) {
      use.not_used.push_back(text + ": " + std::string(keyword->how));
    }
  }
  return use;
}

bool KeywordMatters(const std::string& keyword) {
  const SshKeyword* const known = FindSshKeyword(keyword);
  return !known || (known->use != KeywordUse::kIrrelevant && known->name != "Host");
}

}  // namespace autodist::plan
