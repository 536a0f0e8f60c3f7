#include "why/stack_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/quantity.h"
#include "base/ranges.h"

namespace autodist::why {
namespace {

// "in all_reduce (…)", or "sleeping in futex_wait".
std::string DoingText(const v1::StackGroup& group) {
  if (!group.unknown().empty()) return "not known: " + group.unknown();
  std::string text = (group.missing().empty() ? "in " : "") + group.doing();
  if (!group.called_by().empty()) text += ", called by " + group.called_by();
  if (!group.missing().empty()) text += " (no stack: " + group.missing() + ")";
  return text;
}

}  // namespace

void StackGroups::Add(uint32_t rank, const StackSummary& summary) {
  if (summary.doing.empty()) return AddUnknown(rank, summary.missing);
  v1::StackGroup group;
  group.set_doing(summary.doing);
  group.set_called_by(summary.called_by);
  group.set_missing(summary.missing);
  reported_.emplace(rank, Reported{std::move(group), summary.source});
}

void StackGroups::AddUnknown(uint32_t rank, const std::string& why) {
  v1::StackGroup group;
  group.set_unknown(why);
  reported_.emplace(rank, Reported{std::move(group), ""});
}

std::vector<v1::StackGroup> StackGroups::Groups() const {
  std::map<std::pair<std::string, std::string>, v1::StackGroup> by_key;  // by source and content
  for (const auto& [rank, reported] : reported_) {
    by_key.try_emplace({reported.source, reported.group.SerializeAsString()}, reported.group)
        .first->second.add_ranks(rank);
  }
  // A group is most of the ranks if it has more than half of the known ones.
  std::map<std::string, int> known;    // ranks, by source, as the next
  std::map<std::string, int> largest;  // group
  for (const auto& [key, group] : by_key) {
    if (!group.unknown().empty()) continue;
    known[key.first] += group.ranks_size();
    largest[key.first] = std::max(largest[key.first], group.ranks_size());
  }
  std::vector<v1::StackGroup> groups;
  groups.reserve(by_key.size());
  for (auto& [key, group] : by_key) {
    const int all = known[key.first];
    group.set_unlike_most(group.unknown().empty() && 2 * largest[key.first] > all &&
                          2 * group.ranks_size() <= all);
    groups.push_back(std::move(group));
  }
  std::ranges::sort(groups, {}, [](const v1::StackGroup& group) {
    return std::tuple(!group.unknown().empty(), group.ranks_size(), group.ranks(0));
  });
  return groups;
}

std::string GroupsText(const google::protobuf::RepeatedPtrField<v1::StackGroup>& groups) {
  std::string text;
  for (const v1::StackGroup& group : groups) {
    const std::string list = base::RangesText(group.ranks(), ", ");
    const std::string unlike = group.unlike_most() ? ", unlike most," : "";
    text += text.empty() ? "" : "\n";
    if (group.ranks_size() == 1) {
      text += "rank " + list + unlike + " " + DoingText(group);
    } else {
      text += base::Count(static_cast<size_t>(group.ranks_size()), "rank") + unlike + " " +
              DoingText(group) + ": " + list;
    }
  }
  return text;
}

}  // namespace autodist::why
