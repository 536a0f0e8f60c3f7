// Reads YAML of unknown structure. Missing values and those of another kind are empty views.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "spec/yaml_tree.h"

namespace autodist::spec {

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
