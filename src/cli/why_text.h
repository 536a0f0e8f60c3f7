// A diagnosis as `autodist why` prints it.
#pragma once

#include <string>

#include "why/diagnosis.h"

namespace autodist::cli {

int ExitCodeOf(const why::Diagnosis& diagnosis);

// The sentence, what it costs, the evidence with its sources, and what was ruled out.
std::string WhyText(const why::Diagnosis& diagnosis);

// {"job_id": …, "diagnosis": "wrong" | "well" | "cannot tell", "issue": {…}}, of one line.
std::string WhyJson(const std::string& job_id, const why::Diagnosis& diagnosis);

}  // namespace autodist::cli
