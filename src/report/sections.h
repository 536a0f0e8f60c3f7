// The sections of a report. All are pure; a section without data has no blocks.
#pragma once

#include "report/contents.h"
#include "report/document.h"

namespace autodist::report {

Section TimeSection(const v1::JobSnapshot& snapshot);      // time by use
Section AttemptsSection(const v1::JobSnapshot& snapshot);  // in order
Section EventsSection(const v1::JobSnapshot& snapshot);
Section CurvesSection(const v1::JobSnapshot& snapshot, const v1::History& history);

Severity ToneOf(v1::Mark mark);
// Local time: "2026-11-23 14:36:22"; empty: unknown.
std::string TimeText(int64_t time_ms);
// "4 h 19 min".
std::string SpanText(int64_t milliseconds);
// Four digits: "2.054", "3e-05".
std::string NumberText(double value);

// The job's end, or the time of the snapshot.
int64_t EndOf(const v1::JobSnapshot& snapshot);

inline Cell Number(std::string text) { return {std::move(text), Cell::Kind::kNumber}; }
inline Cell Code(std::string text) { return {std::move(text), Cell::Kind::kCode}; }

}  // namespace autodist::report
