// The format of a report.
#pragma once

#include <string>

#include "autodist/status.h"

namespace autodist::cli {

enum class ReportFormat { kHtml, kMarkdown };

// Returns Markdown if that is asked for, else the format for the file, by its suffix; HTML without
// a suffix or without a file (""). kInvalidArgument: a report has no such format. Pure logic.
Result<ReportFormat> FormatOfReport(const std::string& file, bool markdown = false);

}  // namespace autodist::cli
