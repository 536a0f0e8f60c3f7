// Parses YAML into a tree of values that know their line and column.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "spec/problem.h"

namespace autodist::spec {

struct YamlValue {
  enum class Kind { kNull, kText, kList, kMapping };

  Kind kind = Kind::kNull;
  Position position;
  std::string text;  // of kText
  // The entries of a list; of a mapping key, value, key, value and so on. An alias is the value
  // that it stands for, so a value may be reached in several ways, even from within itself.
  std::vector<const YamlValue*> items;
};

struct YamlDocument {
  std::deque<YamlValue> values;     // all of them; a deque, so that they stay where they are
  const YamlValue* root = nullptr;  // null for a text without any value
  std::optional<Position> second_document;

  struct SyntaxError {
    Position position;
    std::string what;
  };
  std::optional<SyntaxError> error;  // the tree is not complete then
};

// Never throws, whatever the text is.
YamlDocument ParseYaml(const std::string& text);

}  // namespace autodist::spec
