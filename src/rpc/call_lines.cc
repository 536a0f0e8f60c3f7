#include "rpc/call_lines.h"

#include <absl/strings/escaping.h>
#include <absl/strings/numbers.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "base/random.h"
#include "base/split.h"

namespace autodist::rpc {
namespace {

constexpr char kCaller[] = "AUTODIST-CALL";
constexpr char kChief[] = "AUTODIST-CHIEF";
constexpr size_t kWordSize = 32;  // hexadecimal digits
constexpr size_t kLongestName = 255;

bool IsHexDigit(unsigned char c) { return std::isxdigit(c) != 0; }

bool IsWord(std::string_view text) {
  return text.size() == kWordSize && std::ranges::all_of(text, IsHexDigit);
}

// In a time that does not tell how much of it was right.
bool IsSame(std::string_view said, std::string_view word) {
  if (said.size() != word.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < word.size(); ++i) {
    different |= static_cast<unsigned char>(said[i] ^ word[i]);
  }
  return different == 0;
}

}  // namespace

CallWords CallWords::Make() { return {base::RandomHex(), base::RandomHex()}; }

std::string CallWords::ToLine() const { return caller + " " + chief + "\n"; }

std::optional<CallWords> CallWords::FromLine(std::string_view line) {
  const auto words = base::Split(line.substr(0, line.find('\n')), ' ');
  if (words.size() != 2 || !IsWord(words[0]) || !IsWord(words[1])) return std::nullopt;
  return CallWords{std::string(words[0]), std::string(words[1])};
}

std::string CallerGreeting(const CallWords& words, const std::string& node) {
  return std::string(kCaller) + " " + words.caller + " " + node + "\n";
}

std::string ChiefGreeting(const CallWords& words) {
  return std::string(kChief) + " " + words.chief + "\n";
}

std::optional<std::string> NodeInGreeting(std::string_view line, const CallWords& words) {
  const auto parts = base::Split(line, ' ');
  if (parts.size() != 3 || parts[0] != kCaller || !IsSame(parts[1], words.caller) ||
      !IsNodeName(parts[2])) {
    return std::nullopt;
  }
  return std::string(parts[2]);
}

bool IsChiefGreeting(std::string_view line, const CallWords& words) {
  const auto parts = base::Split(line, ' ');
  return parts.size() == 2 && parts[0] == kChief && IsSame(parts[1], words.chief);
}

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) || c == '.' || c == '-' || c == '_';
         });
}

std::string CallLine::ToLine() const {
  std::string line = kind + " " + std::to_string(id);
  for (const std::string& text : texts) line += " " + absl::BytesToHexString(text);
  return line + "\n";
}

std::optional<CallLine> CallLine::FromLine(std::string_view line) {
  const auto parts = base::Split(line, ' ');
  CallLine read{std::string(parts[0])};
  if (parts.size() < 2 || !absl::SimpleAtoi(std::string(parts[1]), &read.id)) return std::nullopt;
  for (size_t i = 2; i < parts.size(); ++i) {
    const bool hex = parts[i].size() % 2 == 0 && std::ranges::all_of(parts[i], IsHexDigit);
    if (!hex) return std::nullopt;
    read.texts.push_back(absl::HexStringToBytes(std::string(parts[i])));
  }
  return read;
}

LineRead ReadLine(int socket, std::string& line, size_t longest) {
  std::array<char, 4096> bytes;
  for (;;) {
    const ssize_t seen = recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen < 0 && errno == EINTR) continue;
    if (seen < 0 && errno == EAGAIN) return LineRead::kPart;
    if (seen <= 0) return LineRead::kBroken;
    const std::string_view text(bytes.data(), static_cast<size_t>(seen));
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (line.size() + part.size() > longest) return LineRead::kBroken;
    line += part;
    const size_t taken = part.size() + (end == text.npos ? 0 : 1);
    if (recv(socket, bytes.data(), taken, MSG_DONTWAIT) < 0) return LineRead::kBroken;
    if (end != text.npos) return LineRead::kWhole;
  }
}

}  // namespace autodist::rpc
