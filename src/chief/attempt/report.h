// What the user is told of a job that hangs or has failed.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "chief/attempt/attempt.h"

namespace autodist::chief {

// That no rank has written for `time`, with each one's last line.
std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time);

// DescribeCause, with what the rank that failed has said of why, as far as that has come.
std::string DescribeCauseInOneLine(const Attempt& attempt);

// Why the job ended early, what became of the other ranks, and what is to be known of its output;
// "" if it ended well. When the attempt's logs take nothing any more.
std::string EndReport(const Attempt& attempt, const std::vector<std::string>& terminal_warnings);

// Whether the rank that failed has waited in vain for others, of which none is known to have failed
// or ended: what those do that still run tells why.
bool MayBeMissing(const Attempt& attempt);

// How a job that ran has ended: "ended" well, "failed" or "stopped".
std::string OutcomeOf(const Attempt& last);
// The same in a line. `goodput`: the share of the time that was training.
std::string LastLine(const Attempt& last, int exit_code, std::chrono::milliseconds elapsed,
                     std::optional<double> goodput);

}  // namespace autodist::chief
