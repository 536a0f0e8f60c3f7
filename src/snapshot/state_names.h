// The words and marks for the states of jobs, nodes and ranks, the same in every view. Pure
// functions.
#pragma once

#include <string>

#include "autodist/v1/snapshot.pb.h"

namespace autodist::snapshot {

// How a job is, in words: "running, slow".
struct JobState {
  std::string words;
  v1::Mark mark = v1::MARK_NONE;
};
JobState StateOf(const v1::JobStatus& job);         // without what its issues say
JobState StateOf(const v1::JobSnapshot& snapshot);  // with that

// How a rank is, in a word, by its state and its mark: "training".
std::string StateText(const v1::RankSnapshot& rank);

v1::Mark MarkOfState(v1::RankState state);
v1::Mark MarkOfPhase(v1::NodePhase phase);
v1::Mark MarkOf(v1::Issue::Kind kind);

}  // namespace autodist::snapshot
