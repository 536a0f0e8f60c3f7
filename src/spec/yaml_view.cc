#include "spec/yaml_view.h"

namespace autodist::spec {

YamlView YamlView::operator[](std::string_view key) const {
  if (!IsMapping()) return YamlView();
  for (size_t i = 0; i + 1 < value_->items.size(); i += 2) {
    const YamlValue& name = *value_->items[i];
    if (name.kind == YamlValue::Kind::kText && name.text == key) {
      return YamlView(value_->items[i + 1]);
    }
  }
  return YamlView();
}

void YamlView::ForEach(const std::function<void(YamlView)>& handler) const {
  if (!IsList()) return;
  for (const YamlValue* item : value_->items) handler(YamlView(item));
}

void YamlView::ForEachEntry(
    const std::function<void(const std::string& key, YamlView value)>& handler) const {
  if (!IsMapping()) return;
  for (size_t i = 0; i + 1 < value_->items.size(); i += 2) {
    handler(value_->items[i]->text, YamlView(value_->items[i + 1]));
  }
}

}  // namespace autodist::spec
