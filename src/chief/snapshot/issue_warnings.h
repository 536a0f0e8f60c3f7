// Warnings about slow parts of a running job, for its terminal.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::chief {

struct IssueWarning {
  std::string address;  // of the node
  std::string what;     // one line
};

// Reports each issue of a sequence of snapshots once. Not thread-safe.
class IssueWarnings {
 public:
  static constexpr size_t kMaxLines = 20;  // lines per attempt

  // A new attempt begins: all issues are new.
  void Begin() {
    reported_.clear();
    lines_ = 0;
  }
  // Returns new warnings: none that was returned for the same rank or node and cause, and none that
  // the chief reports by itself, such as a failed rank or a disconnected node.
  std::vector<IssueWarning> Take(const v1::JobSnapshot& snapshot);

 private:
  void Add(const v1::JobSnapshot& snapshot, const v1::Issue& issue, std::string what,
           std::vector<IssueWarning>& warnings);

  std::set<std::string> reported_;  // see KeyOf
  size_t lines_ = 0;
};

}  // namespace autodist::chief
