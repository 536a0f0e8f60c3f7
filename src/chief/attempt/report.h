// The texts about a job that hangs or has failed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "chief/attempt/attempt.h"

namespace autodist::chief {

// Says that no rank has written for `time`, with the last line of each.
std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time);

// NameCause, with the failed rank's own reason as far as it has arrived.
std::string DescribeCauseInOneLine(const Attempt& attempt);
// Leaves out the reasons of losses, for readers of the messages that gave them when they happened.
std::string WithoutReasonsOfLosses(std::string text, const Attempt& attempt);

// "; rank 7 on node4 failed after it": the failure that was taken for the cause while ranks were
// stopped; "": it is the cause.
std::string NoticedFirst(const Attempt& attempt);

// Describes why the job ended early, how the other ranks ended, and issues with their output; "" if
// it ended well. Call it when the attempt's logs are complete.
std::string EndReport(const Attempt& attempt, const std::vector<std::string>& terminal_warnings);

// Returns whether a message of the failed rank may explain its end and has not arrived as a whole,
// while others run.
bool OutputMayFollow(const Attempt& attempt);

// Returns whether the failed rank waited in vain for others, none of which is known to have failed
// or ended; the stacks of running ranks then show the reason.
bool MayBeMissing(const Attempt& attempt);

// Returns how a job that ran has ended: "ended" well, "failed" or "stopped".
std::string OutcomeOf(const Attempt& last);
// The same in a line. `goodput`: the share of the time that was training, as text.
std::string LastLine(const Attempt& last, int exit_code, std::chrono::milliseconds elapsed,
                     const std::string& goodput);

}  // namespace autodist::chief
