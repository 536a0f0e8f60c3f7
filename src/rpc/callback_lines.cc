#include "rpc/callback_lines.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>

#include <algorithm>
#include <cctype>

#include "base/split.h"

namespace autodist::rpc {
namespace {

// With an instance it fits into OpenSSL's limit of 256 bytes.
constexpr size_t kMaxNameLength = 200;
constexpr size_t kInstanceSize = 32;

bool IsHexDigit(unsigned char c) { return std::isxdigit(c) != 0; }

}  // namespace

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

std::optional<CallbackIdentity> CallbackIdentity::FromText(std::string_view text) {
  const auto parts = base::Split(text, '/');
  if (parts.size() != 2 || !IsNodeName(parts[0]) || parts[1].size() != kInstanceSize ||
      !std::ranges::all_of(parts[1], IsHexDigit)) {
    return std::nullopt;
  }
  return CallbackIdentity{std::string(parts[0]), std::string(parts[1])};
}

std::string CallbackLine::ToLine() const {
  std::string line = kind + " " + std::to_string(id);
  for (const std::string& text : texts) line += " " + absl::BytesToHexString(text);
  return line + "\n";
}

std::optional<CallbackLine> CallbackLine::FromLine(std::string_view line) {
  const auto parts = base::Split(line, ' ');
  CallbackLine read{std::string(parts[0])};
  if (parts.size() < 2 || !absl::SimpleAtoi(std::string(parts[1]), &read.id)) return std::nullopt;
  for (size_t i = 2; i < parts.size(); ++i) {
    const bool hex = parts[i].size() % 2 == 0 && std::ranges::all_of(parts[i], IsHexDigit);
    if (!hex) return std::nullopt;
    read.texts.push_back(absl::HexStringToBytes(std::string(parts[i])));
  }
  return read;
}

}  // namespace autodist::rpc
