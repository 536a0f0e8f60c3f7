// Makes one diagnosis from all data of a job. Pure logic.
#pragma once

#include <optional>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::why {

// All of it is untrusted; the diagnosis is short and contains no terminal control sequences.
struct Known {
  v1::JobSnapshot now;
  std::optional<v1::JobSnapshot> before;  // the same job some seconds earlier
  std::vector<v1::WholeStack> stacks;     // of the running ranks, between the two
  // the same some seconds earlier; empty: not requested
  std::vector<v1::WholeStack> stacks_earlier;
  // All ranks have been silent for so long that the job is certainly stalled.
  bool stalled = false;
};

struct Diagnosis {
  enum class Kind { kWrong, kWell, kUnclear };
  Kind kind = Kind::kUnclear;
  v1::Issue issue;  // with evidence for each kind; with kind and `since` if kWrong
};

Diagnosis Judge(const Known& known);

// Steps advanced or a rank wrote output between the two snapshots, so the job is not stalled.
bool GoesOn(const v1::JobSnapshot& now, const v1::JobSnapshot& before);

// For a rank that stopped waiting for others: names the running ranks that are elsewhere, and what
// they do; "": none or unknown.
std::string WhoIsMissing(const Known& known);

// For a job none of whose ranks runs yet, or again.
Diagnosis JudgeStarting(const v1::JobSnapshot& snapshot);

// For a job that has ended: judges by its end and its last snapshot, which may be empty.
Diagnosis JudgeEnded(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

}  // namespace autodist::why
