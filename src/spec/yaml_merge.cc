#include "spec/yaml_merge.h"

#include <algorithm>
#include <utility>

namespace autodist::spec {
namespace {

using ValueKind = YamlValue::Kind;

constexpr size_t kMostMerged = 1 << 18;

bool IsMergeKey(const YamlValue& key) {
  return key.kind == ValueKind::kText && key.plain && key.text == "<<";
}

}  // namespace

void YamlMerger::Report(const YamlValue& key, const std::string& what) {
  if (document_.mistakes.size() < kMostMistakes) document_.mistakes.push_back({key.position, what});
}

void YamlMerger::AddSource(const YamlValue& source, const YamlValue& key, YamlValue& mapping,
                           const std::vector<YamlValue*>& open) {
  if (source.kind != ValueKind::kMapping) {
    return Report(key, "'<<' takes a mapping, or a list of mappings, such as '<<: *gpu'");
  }
  if (std::ranges::find(open, &source) != open.end()) {
    return Report(key, "'<<' merges a mapping into itself");
  }
  if (merged_ > kMostMerged) return;  // which has been reported
  merged_ += source.items.size() / 2 + 1;
  if (merged_ > kMostMerged) {
    return Report(key,
                  "merge keys ('<<') stand for too many values; is one repeated over and over?");
  }
  for (size_t i = 0; i + 1 < source.items.size(); i += 2) {
    const YamlValue* const name = source.items[i];
    if (name->kind == ValueKind::kText && !known_.insert(name->text).second) continue;
    mapping.items.push_back(name);
    mapping.items.push_back(source.items[i + 1]);
  }
}

void YamlMerger::Merge(YamlValue& mapping, const std::vector<YamlValue*>& open) {
  const auto& items = mapping.items;
  bool any = false;
  for (size_t i = 0; i + 1 < items.size(); i += 2) any = any || IsMergeKey(*items[i]);
  if (!any) return;
  known_.clear();
  std::vector<std::pair<const YamlValue*, const YamlValue*>> merges;
  std::vector<const YamlValue*> own;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (IsMergeKey(*items[i])) {
      merges.emplace_back(items[i], items[i + 1]);
      continue;
    }
    if (items[i]->kind == ValueKind::kText) known_.insert(items[i]->text);
    own.insert(own.end(), {items[i], items[i + 1]});
  }
  mapping.items = std::move(own);
  if (merges.size() > 1) {
    Report(*merges[1].first, "'<<' appears twice; write '<<: [*a, *b]', the one that wins first");
  }
  const auto& [key, value] = merges[0];
  if (value->kind != ValueKind::kList) return AddSource(*value, *key, mapping, open);
  for (const YamlValue* source : value->items) AddSource(*source, *key, mapping, open);
}

}  // namespace autodist::spec
