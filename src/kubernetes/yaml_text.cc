#include "kubernetes/yaml_text.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/json_quote.h"

namespace autodist::kubernetes {
namespace {

// Plain scalars that YAML 1.1 does not read as a text. Source: yaml.org/type/bool.html, null.html.
constexpr const char* kNoTexts[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null"};

// Whether the text needs no quotes: it begins like a word, a path or a long option, and has no
// special characters of YAML.
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

std::string Scalar(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  return IsPlain(text) ? text : base::JsonQuoted(text);
}

std::string Block(const nlohmann::ordered_json& value, size_t indent) {
  const std::string margin(indent, ' ');
  std::string text;
  for (const auto& [key, item] : value.items()) {
    const bool nested = item.is_structured() && !item.empty();
    if (value.is_array()) {
      // The first line of the content follows the dash.
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

}  // namespace autodist::kubernetes
