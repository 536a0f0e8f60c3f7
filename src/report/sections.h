// The sections of a report. Each is pure, and without blocks where nothing is known.
#pragma once

#include "report/contents.h"
#include "report/document.h"

namespace autodist::report {

Section TimeSection(const v1::JobSnapshot& snapshot);      // where it went
Section AttemptsSection(const v1::JobSnapshot& snapshot);  // one after the other
Section EventsSection(const v1::JobSnapshot& snapshot);
Section CurvesSection(const v1::JobSnapshot& snapshot, const v1::History& history);
Section SlowestSection(const v1::JobSnapshot& snapshot);  // ranks
Section FailedSection(const JobFacts& facts);             // ranks, and what they wrote last
Section NodesSection(const v1::JobSnapshot& snapshot);
Section RunSection(const v1::JobStatus& job);  // from where, and what is left of it

// What snapshot and job call a rank: "rank 3"; its node and GPUs: "node4, GPU 5".
std::string RankName(const v1::RankSnapshot& rank);
std::string Place(const v1::JobSnapshot& snapshot, const v1::RankSnapshot& rank);

Severity ToneOf(v1::Mark mark);
// Local: "2026-11-23 14:36:22"; empty: not known.
std::string TimeText(int64_t time_ms);
// "4 h 19 min".
std::string SpanText(int64_t milliseconds);
// Four digits of it: "2.054", "3e-05".
std::string NumberText(double value);

// When it ended, or as of when the snapshot is.
int64_t EndOf(const v1::JobSnapshot& snapshot);

inline Cell Number(std::string text) { return {std::move(text), Cell::Kind::kNumber}; }
inline Cell Code(std::string text) { return {std::move(text), Cell::Kind::kCode}; }

}  // namespace autodist::report
