// The format of a report.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::cli {

enum class ReportFormat { kHtml, kMarkdown };

// Returns the format for the file, by its suffix; HTML without a suffix or without a file ("").
// kInvalidArgument: a report has no such format. Pure logic.
Result<ReportFormat> FormatOfReport(const std::string& file);

}  // namespace autodist::cli
