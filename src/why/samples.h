// Numbers of samples, compared and as text. Pure logic.
#pragma once

#include <string>
#include <vector>

#include "autodist/v1/board.pb.h"

namespace autodist::why {

// "1,005": rounded, and nothing below 0.
std::string Number(double value);
// The nodes in the board whose samples are of now.
std::vector<int> Running(const v1::Board& board);

// Whether the node was looked at again since `before`: one sample shows nothing twice.
bool SampledSince(const v1::Board& before, const v1::Board& now, int node);
// The same of all nodes that had a sample before.
bool AllSampledSince(const v1::Board& before, const v1::Board& now);

}  // namespace autodist::why
