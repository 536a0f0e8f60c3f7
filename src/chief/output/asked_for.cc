#include "chief/output/asked_for.h"

#include <algorithm>

namespace autodist::chief {
namespace {

constexpr std::string_view kRecords = "ProcessGroupNCCL preparing to dump debug info";

}  // namespace

// Of most output its first line decides.
bool IsAskedFor(std::string_view output) {
  bool any = false;  // not of a line's end alone
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
