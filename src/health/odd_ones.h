// Finds the members of a group that are worse than nearly all others, for example the one slow link
// of eight. Groups whose members differ on purpose have no majority.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace autodist::health {

struct Member {
  std::string name;
  uint64_t value;  // more is better
};

struct OddOne {
  std::string group;
  Member member;
  uint64_t usual;
};

// At least three quarters of a group, and three members, must have the usual value.
inline std::vector<OddOne> FindOddOnes(const std::map<std::string, std::vector<Member>>& groups) {
  constexpr size_t kMinUsual = 3;
  std::vector<OddOne> odd;
  for (const auto& [group, members] : groups) {
    std::map<uint64_t, size_t> counts;
    for (const Member& member : members) ++counts[member.value];
    const auto usual =
        std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
    if (usual == counts.end() || usual->second < kMinUsual ||
        usual->second * 4 < members.size() * 3)
      continue;
    for (const Member& member : members) {
      if (member.value < usual->first) odd.push_back({group, member, usual->first});
    }
  }
  return odd;
}

}  // namespace autodist::health
