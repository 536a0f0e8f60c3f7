// What the user is told of a job that hangs or has failed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "chief/attempt/attempt.h"

namespace autodist::chief {

// That no rank has written for `time`, with each one's last line.
std::string HangReport(const Attempt& attempt, std::chrono::milliseconds time);

// Why the job ended early, what became of the other ranks, and what is to be known of its output;
// "" if it ended well. When the attempt's logs take nothing any more.
std::string EndReport(const Attempt& attempt, const std::vector<std::string>& terminal_warnings);

}  // namespace autodist::chief
