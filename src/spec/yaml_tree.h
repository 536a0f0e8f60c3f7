// Parses YAML into a tree of values that know their line and column.
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
  // The entries of a list; of a mapping key, value, key, value and so on. An alias is the value
  // that it stands for, so a value may be reached in several ways, even from within itself. A
  // mapping with merge keys ("<<") has the entries that they stand for, behind its own.
  std::vector<const YamlValue*> items;
  bool plain = false;    // of kText: it is not in quotes
  bool aliased = false;  // an alias stands for it
};

struct YamlDocument {
  std::deque<YamlValue> values;     // all of them; a deque, so that they stay where they are
  const YamlValue* root = nullptr;  // null for a text without any value
  std::optional<Position> second_document;

  struct Mistake {
    Position position;
    std::string what;
  };
  std::optional<Mistake> error;   // of the syntax; the tree is not complete then
  std::vector<Mistake> mistakes;  // in merge keys and tags; a few at most
};

// Never throws, whatever the text is.
YamlDocument ParseYaml(const std::string& text);

}  // namespace autodist::spec
