#include "chief/start/checkpoints.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>

#include "base/a_few_of.h"
#include "base/quantity.h"
#include "base/wall_clock.h"

namespace autodist::chief {
namespace {

constexpr int64_t kNanoseconds = 1'000'000'000;
// Nodes write one checkpoint within this time, whatever the names of their files.
constexpr int64_t kTogether = 5 * kNanoseconds;
// The same if the files have the same name, or are in the same folder of --checkpoint-dir.
constexpr int64_t kSameNameTogether = 60 * kNanoseconds;
constexpr size_t kMaxGroupsNamed = 3;

std::string TopOf(const std::string& name) { return name.substr(0, name.find('/')); }

bool IsSameCheckpoint(const v1::CheckpointFact& one, const v1::CheckpointFact& other) {
  if (one.name().empty() || other.name().empty()) return one.name() == other.name();
  const int64_t apart = std::abs(one.written_ns() - other.written_ns());
  return apart <= kTogether ||
         (apart <= kSameNameTogether && TopOf(one.name()) == TopOf(other.name()));
}

}  // namespace

std::optional<v1::CheckpointRequest> CheckpointsToCompare(const v1::JobRequest& request,
                                                          size_t nodes) {
  if (request.checkpoint_dir().empty() || nodes < 2) return std::nullopt;
  v1::CheckpointRequest checkpoints;
  checkpoints.set_folder(request.checkpoint_dir());
  std::error_code error;  // without a current folder, none is left out
  auto logs = std::filesystem::absolute(request.log_dir(), error).lexically_normal();
  if (!logs.has_filename()) logs = logs.parent_path();  // written with a slash at its end
  checkpoints.add_left_out(logs);
  return checkpoints;
}

std::string CheckpointsDiffer(const std::vector<NodeCheckpoint>& nodes) {
  struct Group {
    v1::CheckpointFact newest;
    std::vector<std::string> addresses;
  };
  std::vector<Group> groups;
  for (const NodeCheckpoint& node : nodes) {
    auto same = std::ranges::find_if(
        groups, [&](const Group& group) { return IsSameCheckpoint(group.newest, node.newest); });
    if (same == groups.end()) same = groups.insert(same, {node.newest, {}});
    same->addresses.push_back(node.address);
  }
  if (groups.size() < 2) return "";
  std::ranges::stable_sort(groups, std::greater(),
                           [](const Group& group) { return group.newest.written_ns(); });
  std::string text;
  for (size_t i = 0; i < std::min(groups.size(), kMaxGroupsNamed); ++i) {
    const auto& [newest, addresses] = groups[i];
    text += (i == 0 ? "" : ", ") + base::AFewOf(addresses) +
            (addresses.size() == 1 ? " has " : " have ");
    text += newest.name().empty()
                ? "none"
                : newest.name() + " of " +
                      base::LocalTime("%Y-%m-%d %H:%M:%S", newest.written_ns() / kNanoseconds);
  }
  if (groups.size() > kMaxGroupsNamed) {
    size_t others = 0;
    for (size_t i = kMaxGroupsNamed; i < groups.size(); ++i) others += groups[i].addresses.size();
    text += ", and " + base::Count(others, "other node") + (others == 1 ? " has" : " have") +
            " older ones or none";
  }
  return text;
}

}  // namespace autodist::chief
