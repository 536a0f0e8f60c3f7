#include "base/yaml_quote.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace autodist::base {
namespace {

// What may not stand in YAML as it is, or ends a line there. Source: YAML 1.1, 5.1 and 5.4.
bool NeedsEscape(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

}  // namespace

std::string YamlQuote(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::string_view character =
        text.substr(0, std::max<size_t>(Utf8CharacterLength(text), 1));
    const uint32_t code = CodePoint(character);
    if (code == '\n') {
      quoted += "\\n";
    } else if (NeedsEscape(code)) {
      char escape[16];
      std::snprintf(escape, sizeof escape, "\\u%04x", code);
      quoted += escape;
    } else {
      if (code == '"' || code == '\\') quoted += '\\';
      quoted += character;
    }
    text.remove_prefix(character.size());
  }
  return quoted + "\"";
}

}  // namespace autodist::base
