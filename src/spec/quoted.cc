#include "spec/quoted.h"

#include "base/ip_address.h"
#include "base/split.h"
#include "base/utf8.h"

namespace autodist::spec {
namespace {

// Hides the password of each "user:password@host".
std::string WithoutPasswords(std::string_view text) {
  std::string shown;
  for (const std::string_view word : base::Split(text, ' ')) {
    const size_t scheme = word.find("://");
    const size_t colon = word.find(':', scheme == std::string_view::npos ? 0 : scheme + 3);
    const size_t at = word.rfind('@');
    const bool has_one = at != std::string_view::npos && colon < at;
    if (!shown.empty() || word.data() != text.data()) shown += ' ';
    shown += word.substr(0, has_one ? colon + 1 : word.size());
    if (has_one) shown += "…" + std::string(word.substr(at));
  }
  return shown;
}

}  // namespace

std::string Quoted(std::string_view original) {
  constexpr size_t kLongest = 60;
  const std::string whole = WithoutPasswords(original);
  const std::string_view text = whole;
  if (text.size() <= kLongest) return "'" + base::Printable(text) + "'";
  size_t end = kLongest;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "'" + base::Printable(text.substr(0, end)) + "…'";
}

std::string UpToColon(std::string_view word) {
  const size_t colon = word.find(':');
  const bool whole = colon == std::string_view::npos || colon + 1 == word.size() ||
                     base::IpAddress::Parse(std::string(word));
  return whole ? std::string(word) : std::string(word.substr(0, colon + 1)) + "…";
}

}  // namespace autodist::spec
