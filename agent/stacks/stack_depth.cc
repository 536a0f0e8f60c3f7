#include "agent/stacks/stack_depth.h"

#include <absl/strings/str_cat.h>

#include <cctype>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "agent/stacks/stack_programs.h"
#include "base/fd.h"
#include "base/split.h"

namespace autodist::agent {
namespace {

constexpr uint64_t kWithinPage = 0xfff;
constexpr uint64_t kDeepest = 64 * 1024 * 1024;    // other stacks lie further away
constexpr uint64_t kOfLargeLibrary = 1024 * 1024;  // others are often loaded by a single rank

std::string ReadProc(const std::string& path) {
  constexpr size_t kLargest = 8 * 1024 * 1024;
  return base::ReadFile(path, kLargest).value_or("");
}

std::optional<uint64_t> Number(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Where the stack pointer was when the program started. Source: proc_pid_stat(5).
std::optional<uint64_t> StartOfStack(const std::string& folder) {
  constexpr size_t kField = 25;  // behind the name
  const std::string stat = ReadProc(folder + "/stat");
  const size_t name_end = stat.rfind(") ");
  if (name_end == stat.npos) return std::nullopt;
  const auto fields = base::Split(std::string_view(stat).substr(name_end + 2), ' ');
  return fields.size() > kField ? Number(fields[kField], 10) : std::nullopt;
}

// The same on all machines with the same versions; absent: unknown.
std::optional<uint64_t> HashOfCode(const std::string& folder) {
  const std::string program = base::LinkTarget(folder + "/exe");
  const std::string maps = ReadProc(folder + "/maps");
  std::set<std::string> code;
  for (const std::string_view line : base::Lines(maps)) {
    const auto mapped = ReadMappedCode(line);
    if (!mapped || (mapped->size < kOfLargeLibrary && mapped->file != program)) continue;
    code.insert(absl::StrCat(mapped->file.substr(mapped->file.rfind('/') + 1), " ", mapped->size));
  }
  if (code.empty()) return std::nullopt;
  std::string text;
  for (const std::string& one : code) text += one + "\n";
  return std::hash<std::string>()(text);
}

}  // namespace

std::string DepthOfStack(const std::string& folder) {
  const std::string call = ReadProc(folder + "/syscall");  // "202 0x7f … SP PC"; "running"
  if (call.empty() || std::isdigit(static_cast<unsigned char>(call[0])) == 0) return "";
  const auto words = base::Split(std::string_view(call).substr(0, call.find('\n')), ' ');
  if (words.size() < 3) return "";
  const auto start = StartOfStack(folder);
  const auto now = Number(words[words.size() - 2], 16);
  const auto next = Number(words.back(), 16);
  if (!start || !now || !next || *start <= *now || *start - *now > kDeepest) return "";
  const auto code = HashOfCode(folder);
  if (!code) return "";
  return absl::StrCat("stack: ", *start - *now, " bytes deep, at ", absl::Hex(*next & kWithinPage),
                      ", code ", absl::Hex(*code));
}

}  // namespace autodist::agent
