// A verdict as `autodist why` prints it.
#pragma once

#include <string>

#include "why/verdict.h"

namespace autodist::cli {

int ExitCodeOf(const why::Verdict& verdict);

// The sentence, what it costs, the evidence with its sources, and what was ruled out.
std::string WhyText(const why::Verdict& verdict);

// {"job_id": …, "verdict": "wrong" | "well" | "cannot tell", "issue": {…}}, of one line.
std::string WhyJson(const std::string& job_id, const why::Verdict& verdict);

}  // namespace autodist::cli
