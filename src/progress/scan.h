// Numbers, times and metrics in what programs write. Linear in the text's length; views are into
// what was given.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "progress/progress_update.h"

namespace autodist::progress {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trimmed(std::string_view text);

// From the front of a text, taking it away; where there is none, nothing is taken.
bool Skip(std::string_view& text, std::string_view expected);
void SkipSpaces(std::string_view& text);
std::optional<uint64_t> TakeNumber(std::string_view& text);
// "1.2", "-3e-05", "nan", "inf"; must not be followed by more of a word.
std::optional<double> TakeReal(std::string_view& text);
// "52", "1.23k", "4.5M"
std::optional<uint64_t> TakeCount(std::string_view& text);
// "52/60", with whatever is left out behind the "/": the step, and the total where it is known.
bool TakeStepOf(std::string_view& text, ProgressUpdate& update);
// In seconds: "00:12", "1:02:03", "2 days, 1:02:03", "1d 02:03:04".
std::optional<double> TakeDuration(std::string_view& text);

// Adds what looks like "loss=1.2, acc: 93.1%  lr: 1e-05 | lm loss: 2.3E+00"; an "eta: 0:05:00"
// becomes the time that is left.
void ScanMetrics(std::string_view text, ProgressUpdate& update);
// Whether the program tells this number as one of how it does.
bool IsMetricName(std::string_view name);

}  // namespace autodist::progress
