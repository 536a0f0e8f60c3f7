#include "agent/stacks/group_count.h"

#include <algorithm>

#include "base/utf8.h"

namespace autodist::agent {
namespace {

constexpr size_t kMaxGroupLength = 200;      // bytes
constexpr size_t kMaxOperationLength = 120;  // bytes

}  // namespace

std::string CountLine(const GroupCount& count) {
  std::string group = base::Truncated(count.group, kMaxGroupLength);
  std::ranges::replace(group, ':', '.');  // the colon terminates the name
  std::string line = "counted by " + count.source;
  if (count.pid != 0) line += " for process " + std::to_string(count.pid);
  line += ": group " + group;
  if (count.size != 0) line += " of " + std::to_string(count.size);
  line += ": " + std::to_string(count.entered) + " entered";
  if (count.ended) line += ", " + std::to_string(*count.ended) + " ended";
  if (count.last_ago_ms) line += ", the last " + std::to_string(*count.last_ago_ms) + " ms ago";
  for (size_t i = 0; i < count.what.size(); ++i) {
    line += (i == 0 ? "; " : " < ") + base::Truncated(count.what[i], kMaxOperationLength);
  }
  return base::Printable(line) + "\n";
}

}  // namespace autodist::agent
