// Scans program output for numbers, times and metrics. Linear in the text's length; views point
// into the given text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "progress/progress_update.h"

namespace autodist::progress {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trimmed(std::string_view text);

// Consume the beginning of a text; if it does not match, the text stays unchanged.
bool Skip(std::string_view& text, std::string_view expected);
void SkipSpaces(std::string_view& text);
std::optional<uint64_t> TakeNumber(std::string_view& text);
// "1.2", "-3e-05", "nan", "inf"; must end at a word boundary.
std::optional<double> TakeReal(std::string_view& text);
// "52", "1.23k", "4.5M"
std::optional<uint64_t> TakeCount(std::string_view& text);
// "52/60", where the part after "/" may be missing: sets the step, and the total if present.
bool TakeStepOf(std::string_view& text, ProgressUpdate& update);
// In seconds: "00:12", "1:02:03", "2 days, 1:02:03", "1d 02:03:04".
std::optional<double> TakeDuration(std::string_view& text);

// Adds pairs such as "loss=1.2, acc: 93.1%  lr: 1e-05 | lm loss: 2.3E+00"; "eta: 0:05:00" sets the
// remaining time.
void ScanMetrics(std::string_view text, ProgressUpdate& update);
// Whether a program uses this name for a measure of the training.
bool IsMetricName(std::string_view name);

}  // namespace autodist::progress
