#include "submit/yaml_text.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "base/utf8.h"

namespace autodist::submit {
namespace {

// What YAML 1.1 takes for something else than a text. Source: yaml.org/type/bool.html, null.html.
constexpr const char* kNoTexts[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};

// Whether the text needs no quotes: begins as a word, a path or a long option does, and has nothing
// that means something to YAML.
bool IsPlain(const std::string& text) {
  const size_t start = text.starts_with("--") ? 2 : 0;
  if (text.size() <= start || text.back() == ':') return false;
  if (std::isalpha(static_cast<unsigned char>(text[start])) == 0 && text[start] != '/')
    return false;
  return std::ranges::all_of(text,
                             [](unsigned char c) {
                               return std::isalnum(c) ||
                                      std::string_view("-_./:=+@,").find(static_cast<char>(c)) !=
                                          std::string_view::npos;
                             }) &&
         std::ranges::none_of(kNoTexts,
                              [&](const char* no) { return strcasecmp(text.c_str(), no) == 0; });
}

// What may not stand in YAML as it is, or ends a line there. Source: YAML 1.1, 5.1 and 5.4.
bool NeedsEscape(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029 ||
         code == 0xFEFF || code == 0xFFFE || code == 0xFFFF;
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const std::string_view character =
        text.substr(0, std::max<size_t>(base::Utf8CharacterLength(text), 1));
    const uint32_t code = base::CodePoint(character);
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

std::string Scalar(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return IsPlain(text) ? text : Quoted(text);
}

std::string Block(const nlohmann::ordered_json& value, size_t indent) {
  const std::string margin(indent, ' ');
  std::string text;
  for (const auto& [key, item] : value.items()) {
    const bool nested = item.is_structured() && !item.empty();
    if (value.is_array()) {
      // The first line of what it holds comes behind the dash.
      text += margin + "- " +
              (nested ? Block(item, indent + 2).substr(indent + 2) : Scalar(item) + "\n");
    } else {
      text += margin + Scalar(key) + ":" +
              (nested ? "\n" + Block(item, item.is_array() ? indent : indent + 2)
                      : " " + Scalar(item) + "\n");
    }
  }
  return text;
}

}  // namespace

std::string YamlText(const nlohmann::ordered_json& value) { return Block(value, 0); }

}  // namespace autodist::submit
