#include "chief/output/asked_for.h"

#include <algorithm>

#include "base/split.h"

namespace autodist::chief {
namespace {

constexpr std::string_view kRecords = "ProcessGroupNCCL preparing to dump debug info";

}  // namespace

bool IsAskedFor(std::string_view output) {
  return !output.empty() && std::ranges::all_of(base::Lines(output), [](std::string_view line) {
    return line.find(kRecords) != std::string_view::npos;
  });
}

}  // namespace autodist::chief
