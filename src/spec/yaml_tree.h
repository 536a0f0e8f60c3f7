// Parses YAML into a tree of values with line and column.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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

// Reads YAML of unknown structure. Missing values and those of another kind are empty views.
class YamlView {
 public:
  explicit YamlView(const YamlValue* value = nullptr) : value_(value) {}

  bool IsMapping() const { return Is(YamlValue::Kind::kMapping); }
  bool IsList() const { return Is(YamlValue::Kind::kList); }
  bool IsText() const { return Is(YamlValue::Kind::kText); }
  bool IsEmpty() const { return !value_ || Is(YamlValue::Kind::kNull); }

  std::string text() const { return IsText() ? value_->text : ""; }
  size_t line() const { return value_ ? static_cast<size_t>(value_->position.line) : 0; }
  size_t size() const { return IsList() ? value_->items.size() : 0; }

  // The value of a key in a mapping.
  YamlView operator[](std::string_view key) const;
  bool Has(std::string_view key) const { return (*this)[key].value_ != nullptr; }
  // The entry of a list.
  YamlView At(size_t index) const {
    return index < size() ? YamlView(value_->items[index]) : YamlView();
  }
  void ForEach(const std::function<void(YamlView)>& handler) const;
  void ForEachEntry(const std::function<void(const std::string& key, YamlView value)>&) const;

 private:
  bool Is(YamlValue::Kind kind) const { return value_ && value_->kind == kind; }

  const YamlValue* value_;
};

}  // namespace autodist::spec
