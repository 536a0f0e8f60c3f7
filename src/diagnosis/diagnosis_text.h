// Formats a diagnosis for the terminal and as JSON.
#pragma once

#include <string>

#include "autodist/v1/diagnosis.pb.h"

namespace autodist::diagnosis {

// A table of nodes and checks, then each issue with its remedy. `colour`: with terminal escape
// sequences.
std::string DiagnosisAsText(const v1::Diagnosis& diagnosis, bool colour);

// The Diagnosis message in protobuf's JSON mapping.
std::string DiagnosisAsJson(const v1::Diagnosis& diagnosis);

// Only the issues with this result.
std::string IssuesAsText(const v1::Diagnosis& diagnosis, v1::CheckResult result);

// The nodes that the issue is about: "10.0.0.1, 10.0.0.2", or
// "62 of 64 nodes (10.0.0.1, 10.0.0.2, 10.0.0.3 and 59 others)".
std::string NodesOf(const v1::Diagnosis& diagnosis, const v1::DiagnosedIssue& issue);

}  // namespace autodist::diagnosis
