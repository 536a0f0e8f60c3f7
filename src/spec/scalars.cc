#include "spec/scalars.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_split.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/did_you_mean.h"
#include "base/ip_address.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

Status Wrong(const std::string& text, const std::string& why) {
  return Error(StatusCode::kInvalidArgument, Quoted(text) + why);
}

constexpr size_t kMaxUuid = 36;  // characters

bool IsUuidOrItsBeginning(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUuid && std::ranges::all_of(text, [](char c) {
    return c == '-' || std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

std::optional<bool> ReadBool(const std::string& text) {
  const auto is_one_of = [&](std::initializer_list<const char*> words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  if (is_one_of({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})) {
    return true;
  }
  if (is_one_of({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})) {
    return false;
  }
  return std::nullopt;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<uint32_t> ReadWholeNumber(std::string_view text, uint32_t largest) {
  const auto number = base::ParseNumber<uint32_t>(text);
  return number && *number <= largest ? number : std::nullopt;
}

std::optional<double> ReadPositiveNumber(const std::string& text) {
  const auto number = base::ParseNumber<double>(text);
  return number && *number > 0 && std::isfinite(*number) ? number : std::nullopt;
}

std::string ShellNotation(std::string_view text) {
  if (text.find('`') != std::string_view::npos || text.find("$(") != std::string_view::npos) {
    return "commands are not run here; write the value itself";
  }
  for (size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (next == '{' || next == '_' || std::isalpha(static_cast<unsigned char>(next))) {
      return "variables are not replaced here; write the value itself";
    }
  }
  if (text.find("{{") != std::string_view::npos) {
    return "templates are not filled in here; write the value itself";
  }
  if (!text.starts_with('~') || text.size() == 1 || text[1] == '/') return "";
  return Quoted(text.substr(0, text.find('/'))) +
         " is not replaced here, only '~/' for your home folder; write the whole path";
}

Result<v1::HostKeyCheck> ReadHostKeyCheck(const std::string& text) {
  const std::vector<std::pair<std::string, v1::HostKeyCheck>> known = {
      {"strict", v1::HOST_KEY_CHECK_STRICT},
      {"accept-new", v1::HOST_KEY_CHECK_ACCEPT_NEW},
      {"off", v1::HOST_KEY_CHECK_OFF}};
  std::vector<std::string> words;
  for (const auto& [word, check] : known) {
    if (word == text) return check;
    words.push_back(word);
  }
  // "yes" and "no" are values of StrictHostKeyChecking.
  const std::string near = text == "yes"  ? "strict"
                           : text == "no" ? "off"
                                          : base::Nearest(text, words);
  return Wrong(text, " should be " + base::Alternatives(words) +
                         (near.empty() ? "" : "; did you mean '" + near + "'?"));
}

Result<std::string> ReadAbsolutePath(const std::string& text) {
  if (!text.starts_with('/')) {
    return Wrong(text, " is not the absolute path of a folder; it should begin with '/'");
  }
  std::string path = std::filesystem::path(text).lexically_normal().string();
  if (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<std::string> ReadIpv4(const std::string& text) {
  const auto ip = base::IpAddress::Parse(text);
  if (ip && !ip->v6) return ip->ToString();
  return Error(StatusCode::kInvalidArgument, Quoted(text) + " is not an IPv4 address");
}

Result<std::string> ReadHostKey(const std::string& text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ', absl::SkipEmpty());
  std::string key;
  // In wire format a key begins with its type, preceded by the length (RFC 4253, 6.6).
  constexpr size_t kLength = 4;
  const bool decoded = words.size() > 1 && absl::Base64Unescape(words[1], &key);
  const bool plain = !words.empty() && std::ranges::all_of(words[0], [](unsigned char c) {
    return std::isalnum(c) || c == '@' || c == '.' || c == '-';
  });
  if (plain && decoded && key.size() > kLength && key.substr(kLength).starts_with(words[0]) &&
      key.substr(0, kLength) == std::string({0, 0, 0, static_cast<char>(words[0].size())})) {
    return words[0] + " " + words[1];
  }
  return Wrong(text, " is no public key; /etc/ssh/ssh_host_*_key.pub on the machine have them");
}

Status CheckInterface(const std::string& text) {
  if (base::IsInterfaceName(text)) return OkStatus();
  return Wrong(text,
               " is not the name of a network interface, such as eth0; those have 1 to 15 "
               "characters, and no spaces, '/', ':' or '%' among them");
}

Status CheckKeyFile(const std::string& text) {
  if (text.find('\0') != std::string::npos) return Wrong(text, " is no file: it has a zero byte");
  const std::string why = ShellNotation(text);
  return why.empty() ? OkStatus() : Wrong(text, ": " + why);
}

Status CheckVariableName(const std::string& text) {
  if (!text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
      std::all_of(text.begin(), text.end(),
                  [](unsigned char c) { return std::isalnum(c) || c == '_'; })) {
    return OkStatus();
  }
  return Wrong(text, " is not a name for an environment variable");
}

bool IsGpuUuid(std::string_view text) {
  constexpr std::string_view kGpu = "GPU-";
  constexpr std::string_view kMig = "MIG-";
  if (text.starts_with(kGpu)) return IsUuidOrItsBeginning(text.substr(kGpu.size()));
  if (!text.starts_with(kMig)) return false;
  text.remove_prefix(kMig.size());
  if (!text.starts_with(kGpu)) return IsUuidOrItsBeginning(text);
  // UUID, GPU instance, compute instance.
  const auto parts = base::Split(text.substr(kGpu.size()), '/');
  return parts.size() == 3 && IsUuidOrItsBeginning(parts[0]) && IsDigits(parts[1]) &&
         IsDigits(parts[2]);
}

}  // namespace autodist::spec
