// The texts and marks for states of jobs, nodes and ranks, the same in every view. Pure functions.
#pragma once

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// The state of a job: "running, slow".
struct JobState {
  std::string words;
  v1::Mark mark = v1::MARK_NONE;
};
JobState StateOf(const v1::JobStatus& job);         // ignores issues
JobState StateOf(const v1::JobSnapshot& snapshot);  // includes issues

// The state of a rank in one word, by its state and mark: "training".
std::string StateText(const v1::RankSnapshot& rank);

v1::Mark MarkOfState(v1::RankState state);
v1::Mark MarkOfPhase(v1::NodePhase phase);
v1::Mark MarkOf(v1::Issue::Kind kind);

}  // namespace autodist::snapshot
