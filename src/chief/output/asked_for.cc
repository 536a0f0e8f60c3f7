#include "chief/output/asked_for.h"

#include <algorithm>
#include <vector>

#include "base/split.h"

namespace autodist::chief {
namespace {

constexpr std::string_view kRecords = "ProcessGroupNCCL preparing to dump debug info";

}  // namespace

bool IsAskedFor(std::string_view output) {
  const std::vector<std::string_view> lines = base::Lines(output);  // none of a line's end alone
  return !lines.empty() && std::ranges::all_of(lines, [](std::string_view line) {
    return line.find(kRecords) != std::string_view::npos;
  });
}

}  // namespace autodist::chief
