#include "agent/stacks/mapped_code.h"

#include "base/fd.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr size_t kLargestMaps = 8 << 20;  // bytes

}  // namespace

std::optional<MappedCode> ReadMappedCode(std::string_view line) {
  const std::vector<std::string_view> words = base::Split(line.substr(0, line.find('/')), ' ');
  if (line.find('/') == std::string_view::npos || words.size() < 2) return std::nullopt;
  if (words[1].find('x') == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> range = base::Split(words[0], '-');
  const auto begin = base::ParseNumber<uint64_t>(range.front(), 16);
  const auto end = base::ParseNumber<uint64_t>(range.back(), 16);
  if (range.size() != 2 || !begin || !end || *end < *begin) return std::nullopt;
  return MappedCode{std::string(line.substr(line.find('/'))), *end - *begin};
}

std::vector<MappedCode> MappedCodeOf(const std::string& folder) {
  const std::string maps = base::ReadFile(folder + "/maps", kLargestMaps).value_or("");
  std::vector<MappedCode> all;
  for (const std::string_view line : base::Lines(maps)) {
    if (auto code = ReadMappedCode(line)) all.push_back(*std::move(code));
  }
  return all;
}

}  // namespace autodist::agent
