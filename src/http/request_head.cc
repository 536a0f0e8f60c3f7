#include "http/request_head.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/split.h"

namespace autodist::http {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr size_t kMaxMethod = 16;  // bytes

using Headers = std::map<std::string, std::string, std::less<>>;  // names in lower case

bool IsTokenCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}
bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, IsTokenCharacter);
}

std::optional<unsigned char> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned char>(c - '0');
  const char small = absl::ascii_tolower(static_cast<unsigned char>(c));
  if (small >= 'a' && small <= 'f') return static_cast<unsigned char>(small - 'a' + 10);
  return std::nullopt;
}

// Percent signs that encode no byte stay unchanged.
std::string Decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : std::nullopt;
    const auto low = high ? HexDigit(text[i + 2]) : std::nullopt;
    if (low) {
      decoded += static_cast<char>(*high << 4 | *low);
      i += 2;
    } else {
      decoded += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

// "/path?name=value&…"
void ReadTarget(std::string_view target, Request& request) {
  const size_t path_end = std::min(target.find('?'), target.size());
  request.path = Decoded(target.substr(0, path_end), false);
  if (path_end == target.size()) return;
  for (const std::string_view pair : base::Split(target.substr(path_end + 1), '&')) {
    if (pair.empty()) continue;
    const size_t name_end = std::min(pair.find('='), pair.size());
    const std::string_view value = pair.substr(std::min(name_end + 1, pair.size()));
    request.parameters.try_emplace(Decoded(pair.substr(0, name_end), true), Decoded(value, true));
  }
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// False: the line is not a header, or repeats one that must be unique.
bool AddHeader(std::string_view line, Headers& headers) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) return false;
  const std::string_view value = Trimmed(line.substr(colon + 1));
  const auto is_control = [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t';
  };
  if (std::ranges::any_of(value, is_control)) return false;
  const std::string name = absl::AsciiStrToLower(std::string(line.substr(0, colon)));
  const auto [entry, first] = headers.try_emplace(name, std::string(value));
  if (first) return true;
  if (name == "host" || name == "content-length") return false;
  entry->second += (name == "cookie" ? "; " : ", ") + std::string(value);
  return true;
}

std::string ValueOf(const Headers& headers, std::string_view name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool HasBody(const Headers& headers) {
  const std::string length = ValueOf(headers, "content-length");
  return (!length.empty() && length != "0") || headers.contains("transfer-encoding");
}

Answer NoRequest() { return Refusal(400, "Not an HTTP/1.1 request."); }

}  // namespace

size_t HeadSize(std::string_view input) {
  const size_t end = input.find(kHeadEnd);
  return end == std::string_view::npos ? 0 : end + kHeadEnd.size();
}

std::variant<RequestHead, Answer> ReadHead(std::string_view head) {
  head.remove_suffix(kLineEnd.size());
  std::vector<std::string_view> lines = base::Split(head, '\n');
  lines.pop_back();  // the empty text after the last line end
  for (std::string_view& line : lines) {
    if (!line.ends_with('\r')) return NoRequest();
    line.remove_suffix(1);
  }
  if (lines.size() - 1 > kMaxHeaders) return Refusal(431, "Too many headers.");
  const std::vector<std::string_view> words = base::Split(lines[0], ' ');
  if (words.size() != 3 || !IsToken(words[0]) || words[0].size() > kMaxMethod ||
      !words[1].starts_with('/')) {
    return NoRequest();
  }
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") {
    return Refusal(505, "Only HTTP/1.1 is supported.");
  }
  Headers headers;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (!AddHeader(lines[i], headers)) return NoRequest();
  }
  if (HasBody(headers)) return Refusal(413, "Requests with a body are not supported.");
  RequestHead made;
  made.is_head = words[0] == "HEAD";
  made.may_chunk = words[2] == "HTTP/1.1";
  const std::string after = absl::AsciiStrToLower(ValueOf(headers, "connection"));
  made.close = !made.may_chunk || after.find("close") != after.npos;
  made.request.method = made.is_head ? "GET" : std::string(words[0]);
  ReadTarget(words[1], made.request);
  made.request.header = [headers = std::move(headers)](const char* name) {
    return ValueOf(headers, absl::AsciiStrToLower(name));
  };
  return made;
}

Answer TooLarge(std::string_view input) {
  return input.find(kLineEnd) == std::string_view::npos
             ? Refusal(414, "The address is too long.")
             : Refusal(431, "The headers are too large.");
}

}  // namespace autodist::http
