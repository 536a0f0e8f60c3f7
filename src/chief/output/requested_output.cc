#include "chief/output/requested_output.h"

#include <algorithm>

namespace autodist::chief {
namespace {

constexpr std::string_view kRecords = "ProcessGroupNCCL preparing to dump debug info";

}  // namespace

// The first line decides for nearly all output.
bool IsRequestedOutput(std::string_view output) {
  bool any = false;  // not for a line end alone
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    if (line.empty()) continue;
    if (line.find(kRecords) == std::string_view::npos) return false;
    any = true;
  }
  return any;
}

}  // namespace autodist::chief
