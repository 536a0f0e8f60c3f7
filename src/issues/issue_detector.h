// Detects the issues of a job. All views use this detector: its issues are in the job's snapshot,
// which top, web, the metrics and the report show, and the terminal gets warnings of them.
// `autodist why` makes the same checks on two snapshots and adds what the ranks are doing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "issues/checks.h"
#include "issues/step_watch.h"

namespace autodist::issues {

// Called for each new snapshot; remembers since when issues exist. Not thread-safe.
class IssueDetector {
 public:
  // Facts that the snapshot lacks. Times are in milliseconds since 1970; 0: none.
  struct Signs {
    int64_t silent_since_ms = 0;  // the ranks hang since then, by --hang-timeout
    int64_t other_work_ms = 0;    // the last time of an evaluation or similar
  };

  // Returns the issues that have evidence, worst first.
  std::vector<v1::Issue> Detect(const v1::JobSnapshot& snapshot, const Signs& signs);
  std::vector<v1::Issue> Detect(const v1::JobSnapshot& snapshot) {
    return Detect(snapshot, Signs());
  }

 private:
  std::vector<v1::Issue> ThatLast(AllFound found, int64_t now_ms);

  StepWatch steps_;
  std::map<std::string, int64_t> since_;  // by Found::key; since 1970, in milliseconds
};

// A failed rank, else a lost rank, else an unreachable node.
std::optional<v1::Issue> FirstFailure(const v1::JobSnapshot& now);

// For each scarce resource its worst issue, by all checks; `before` may be null.
struct ResourceIssue {
  Resource resource;
  v1::Issue issue;
};
std::vector<ResourceIssue> ResourceIssues(const v1::JobSnapshot& now,
                                          const v1::JobSnapshot* before);

}  // namespace autodist::issues
