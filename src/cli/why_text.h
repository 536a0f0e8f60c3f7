// A diagnosis as `autodist why` prints it.
#pragma once

#include <string>

#include "why/diagnosis.h"

namespace autodist::cli {

int ExitCodeOf(const why::Diagnosis& diagnosis);

// The diagnosis, its cost, the evidence with sources, and what was ruled out.
std::string WhyText(const why::Diagnosis& diagnosis);

// {"job_id": …, "diagnosis": "issue" | "ok" | "unknown", "issue": {…}}, on one line.
std::string WhyJson(const std::string& job_id, const why::Diagnosis& diagnosis);

}  // namespace autodist::cli
