// Parses YAML into a tree of values with line and column.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "spec/issue.h"

namespace autodist::spec {

struct YamlValue {
  enum class Kind { kNull, kText, kList, kMapping };

  Kind kind = Kind::kNull;
  Position position;
  std::string text;  // of kText
  // The entries of a list; for a mapping: key, value, key, value and so on. An alias is the value
  // that it stands for, so a value may be reachable in several ways, even from within itself.
  // Entries from merge keys ("<<") follow the mapping's own.
  std::vector<const YamlValue*> items;
  bool plain = false;    // of kText: not in quotes
  bool aliased = false;  // whether an alias stands for it
};

struct YamlDocument {
  std::deque<YamlValue> values;     // all values; a deque, because their addresses must not change
  const YamlValue* root = nullptr;  // null for a text without any value
  std::optional<Position> second_document;

  struct Mistake {
    Position position;
    std::string what;
  };
  std::optional<Mistake> error;   // a syntax error; then the tree is incomplete
  std::vector<Mistake> mistakes;  // in merge keys and tags; a few at most
};

// Never throws.
YamlDocument ParseYaml(const std::string& text);

}  // namespace autodist::spec
