// One diagnosis from everything that is known of a job. Pure logic.
#pragma once

#include <optional>
#include <vector>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::why {

// All of it is of untrusted origin; what comes out is short and does nothing to a terminal.
struct Known {
  v1::JobSnapshot now;
  std::optional<v1::JobSnapshot> before;       // the same job some seconds earlier
  std::vector<v1::WholeStack> stacks;          // of the ranks that run, between the two
  std::vector<v1::WholeStack> stacks_earlier;  // the same some seconds earlier; empty: not asked
  // No rank has given a sign of life for so long that it is known that nothing goes on.
  bool stands_still = false;
};

struct Diagnosis {
  enum class Kind { kWrong, kWell, kCannotTell };
  Kind kind = Kind::kCannotTell;
  v1::Issue issue;  // with its evidence, whatever the kind is; its kind and `since` where wrong
};

Diagnosis Judge(const Known& known);

// Whether steps went on, or any rank wrote something, between the two: the job does not stand
// still.
bool GoesOn(const v1::JobSnapshot& now, const v1::JobSnapshot& before);

// Where a rank has given up its wait for others: which of those that run, and have not given up, is
// elsewhere, and what it does; "": none, or it is not known.
std::string WhoIsMissing(const Known& known);

// Of a job of which no rank runs yet, or again.
Diagnosis JudgeStarting(const v1::JobSnapshot& snapshot);

// Of a job that has ended: by how, and by what its last snapshot knows, which may be nothing.
Diagnosis JudgeEnded(const v1::JobStatus& job, const v1::JobSnapshot& snapshot);

}  // namespace autodist::why
