#include "agent/stacks/stack_depth.h"

#include <absl/strings/str_cat.h>

#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "agent/sample/processes.h"
#include "agent/stacks/mapped_code.h"
#include "base/fd.h"
#include "base/fnv1a.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kWithinPage = 0xfff;
constexpr uint64_t kDeepest = 64 * 1024 * 1024;    // other stacks lie further away
constexpr uint64_t kOfLargeLibrary = 1024 * 1024;  // others are often loaded by a single rank

// "0x7ffc"
std::optional<uint64_t> HexIn(std::string_view text) {
  return base::TakePrefix(text, "0x") ? base::ParseNumber<uint64_t>(text, 16) : std::nullopt;
}

// The same on all machines with the same versions; absent: unknown.
std::optional<uint64_t> HashOfCode(const std::string& folder) {
  const std::string program = base::LinkTarget(folder + "/exe");
  std::set<std::string> code;
  for (const MappedCode& mapped : MappedCodeOf(folder)) {
    if (mapped.size < kOfLargeLibrary && mapped.file != program) continue;
    code.insert(absl::StrCat(mapped.file.substr(mapped.file.rfind('/') + 1), " ", mapped.size));
  }
  if (code.empty()) return std::nullopt;
  std::string text;
  for (const std::string& one : code) text += one + "\n";
  return base::Fnv1a(text);
}

}  // namespace

std::optional<StackPosition> PositionOf(const std::string& folder) {
  constexpr size_t kLargestCall = 1024;  // bytes
  // "202 0x7f … SP PC"; "running"
  const std::string call = base::ReadFile(folder + "/syscall", kLargestCall).value_or("");
  if (call.empty() || std::isdigit(static_cast<unsigned char>(call[0])) == 0) return std::nullopt;
  const auto words = base::Split(std::string_view(call).substr(0, call.find('\n')), ' ');
  if (words.size() < 3) return std::nullopt;
  const auto now = HexIn(words[words.size() - 2]);
  const auto next = HexIn(words.back());
  const uint64_t start = ReadProcessStat(folder).value_or(ProcessStat{}).stack_start;
  if (!now || !next || start <= *now || start - *now > kDeepest) return std::nullopt;
  return StackPosition{start - *now, *next & kWithinPage};
}

std::string DepthText(const StackPosition& position, const std::string& folder) {
  const auto code = HashOfCode(folder);
  if (!code) return "";
  return absl::StrCat("stack: ", position.bytes, " bytes deep, at ", absl::Hex(position.at),
                      ", code ", absl::Hex(*code));
}

}  // namespace autodist::agent
