#include "spec/quoted.h"

#include "base/utf8.h"

namespace autodist::spec {

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 60;
  if (text.size() <= kLongest) return "'" + base::Printable(text) + "'";
  size_t end = kLongest;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return "'" + base::Printable(text.substr(0, end)) + "…'";
}

}  // namespace autodist::spec
