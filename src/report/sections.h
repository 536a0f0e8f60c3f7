// The sections of a report. Each is pure, and without blocks where nothing is known.
#pragma once

#include "report/contents.h"
#include "report/document.h"

namespace autodist::report {

Section TimeSection(const v1::Board& board);      // where it went
Section AttemptsSection(const v1::Board& board);  // one after the other
Section EventsSection(const v1::Board& board);
Section CurvesSection(const v1::Board& board, const v1::History& history);
Section SlowestSection(const v1::Board& board);  // ranks
Section FailedSection(const JobFacts& facts);    // ranks, and what they wrote last
Section NodesSection(const v1::Board& board);
Section RunSection(const v1::JobStatus& job);  // from where, and what is left of it

// What board and job call a rank: "rank 3"; its node and GPUs: "node4, GPU 5".
std::string RankName(const v1::BoardRank& rank);
std::string Place(const v1::Board& board, const v1::BoardRank& rank);

// Local: "2026-11-23 14:36:22"; empty: not known.
std::string TimeText(int64_t time_ms);
// "4 h 19 min".
std::string SpanText(int64_t milliseconds);
// Four digits of it: "2.054", "3e-05".
std::string NumberText(double value);

// When it ended, or as of when the board is.
int64_t EndOf(const v1::Board& board);

inline Cell Number(std::string text) { return {std::move(text), Cell::Kind::kNumber}; }
inline Cell Code(std::string text) { return {std::move(text), Cell::Kind::kCode}; }

}  // namespace autodist::report
