#include "cli/report_format.h"

#include <absl/strings/ascii.h>

#include <filesystem>

namespace autodist::cli {

Result<ReportFormat> FormatOfReport(const std::string& file, bool markdown) {
  if (markdown) return ReportFormat::kMarkdown;
  const std::filesystem::path path(file);
  const std::string suffix = absl::AsciiStrToLower(path.extension().string());
  if (suffix == ".md" || suffix == ".markdown") return ReportFormat::kMarkdown;
  if (suffix.empty() || suffix == ".html" || suffix == ".htm") return ReportFormat::kHtml;
  return WithRemedy(Error(StatusCode::kInvalidArgument,
                          "--output " + file + ": a report is HTML (.html) or Markdown (.md)"),
                    "give another name, or --markdown for Markdown in this file");
}

}  // namespace autodist::cli
