// Compares nodes by how fast they exchanged data in pairs, for `doctor --burn`. Pure logic.
#pragma once

#include <string>

#include "autodist/v1/diagnosis.pb.h"

namespace autodist::diagnosis {

// Adds a warning for each node that was slow with every partner, and an issue for each that
// received wrong numbers. Sets the result of CHECK_NETWORK of their nodes.
void JudgeLinks(v1::Diagnosis& diagnosis);

// The range of the rates, in a line; "": nothing was measured.
std::string LinksAsText(const v1::Diagnosis& diagnosis);

// A node is slow below this share of the usual rate. Equal nodes differ by less, also if they share
// processors.
inline constexpr double kSlowLink = 0.7;

}  // namespace autodist::diagnosis
