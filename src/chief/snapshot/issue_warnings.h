// What is slow while the job runs, for its terminal.
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

// Looks at the snapshot's issues again and again, and tells of each once. For one thread.
class IssueWarnings {
 public:
  static constexpr size_t kMost = 20;  // lines, in an attempt

  // Another attempt: all is new.
  void Begin() {
    reported_.clear();
    lines_ = 0;
  }
  // What is to be told now: not again of the same rank, or node, and cause, and not what the chief
  // tells by itself, that a rank has failed or a node does not answer.
  std::vector<IssueWarning> Take(const v1::JobSnapshot& snapshot);

 private:
  void Tell(const v1::JobSnapshot& snapshot, const v1::Issue& issue, std::string what,
            std::vector<IssueWarning>& warnings);

  std::set<std::string> reported_;  // see KeyOf
  size_t lines_ = 0;
};

}  // namespace autodist::chief
