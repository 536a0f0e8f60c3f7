// Detects the issues of a job. All views use this detector: its issues are in the job's snapshot,
// which top, web, the metrics and the report show, and the terminal gets warnings of them.
// `autodist why` makes the same checks on two snapshots and adds what the ranks are doing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/v1/snapshot.pb.h"
#include "issues/checks.h"

namespace autodist::issues {

// A job without steps. Times are in milliseconds since 1970.
struct Standstill {
  int64_t since_ms;      // last sign that it was at work
  int64_t last_step_ms;  // its last step
  double usual_ms;       // time of a step until then
};

// A job whose steps have become slower.
struct Slowdown {
  int64_t since_ms;
  double step_ms;    // now
  double before_ms;  // in the time before
};

// "0.96 s", "12 ms", "41 s", "2 min 20 s".
std::string StepTimeText(double ms);

// Detects that steps stop or become slower: compares a job with its own past. Pure logic of bounded
// size; not thread-safe.
class StepWatch {
 public:
  // Takes a new snapshot. `other_work_ms`: the last time of an evaluation or other work that is not
  // a step; 0: never.
  void Update(const v1::JobSnapshot& snapshot, int64_t other_work_ms);

  std::optional<Standstill> standstill() const { return standstill_; }
  std::optional<Slowdown> slowdown() const;

 private:
  struct Span {
    int64_t begin_ms;
    int64_t end_ms;
    double step_ms;
  };

  void Begin(uint32_t attempt);
  void TakeStep(const v1::Progress& progress, int64_t reported_ms);
  void TakeSpan(const Span& span);
  void KeepEarlier(const Span& span);
  void Judge(const v1::JobSnapshot& snapshot);

  std::optional<uint32_t> attempt_;
  std::optional<uint64_t> steps_;  // sum over all ranks
  int64_t reported_ms_ = 0;        // when they were last made
  int64_t alive_ms_ = 0;
  std::optional<double> rate_;  // steps per second at that time
  std::deque<int64_t> gaps_;    // the last ones between reports

  std::optional<uint64_t> mark_;  // the job's step at which the next span begins
  int64_t mark_ms_ = 0;
  std::vector<double> earlier_;  // step times of normal spans
  size_t spans_ = 0;             // normal spans, including those not kept
  size_t stride_ = 1;            // distance of the kept ones
  int64_t steady_ms_ = 0;        // total time of the normal spans
  std::deque<Span> slow_;        // the latest spans if all of them are slow; else empty
  std::deque<Span> recent_;
  std::optional<Standstill> standstill_;
};

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
