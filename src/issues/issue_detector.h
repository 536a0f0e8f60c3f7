// Finds what is wrong with a job. There is one detector for all: what it finds is in the job's
// snapshot, which top, web, the metrics and the report show, and of which the terminal is warned;
// `autodist why` does the same checks on two snapshots and adds what the ranks are doing.
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

// Called each time that the snapshot has changed: remembers since when something is so. For one
// thread.
class IssueDetector {
 public:
  // What the snapshot does not have. Times are in milliseconds since 1970; 0: none.
  struct Signs {
    int64_t silent_since_ms = 0;  // the ranks hang since then, as --hang-timeout has it
    int64_t other_work_ms = 0;    // an evaluation, say, went on last
  };

  // Worst first. Finds nothing that there is no evidence of.
  std::vector<v1::Issue> Detect(const v1::JobSnapshot& snapshot, const Signs& signs);
  std::vector<v1::Issue> Detect(const v1::JobSnapshot& snapshot) {
    return Detect(snapshot, Signs());
  }

 private:
  std::vector<v1::Issue> ThatLast(AllFound found, int64_t now_ms);

  StepWatch steps_;
  std::map<std::string, int64_t> since_;  // by Found::key; since 1970, in milliseconds
};

// A rank that has failed, else one that is lost, else a node that is away.
std::optional<v1::Issue> FirstFailure(const v1::JobSnapshot& now);

// Of each resource of which there is too little the worst, by all checks; `before` may be null.
struct ResourceIssue {
  Resource resource;
  v1::Issue issue;
};
std::vector<ResourceIssue> ResourceIssues(const v1::JobSnapshot& now,
                                          const v1::JobSnapshot* before);

}  // namespace autodist::issues
