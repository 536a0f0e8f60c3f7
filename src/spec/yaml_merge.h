// Merge keys of YAML 1.1: "<<: *a", or "<<: [*a, *b]", gives a mapping the keys of others, its own
// first, then those of the earlier.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "spec/yaml_tree.h"

namespace autodist::spec {

inline constexpr size_t kMostMistakes = 20;  // that a document is said to have

// Not thread-safe. However aliases are nested, no more than kMostMerged entries are looked at.
class YamlMerger {
 public:
  // Mistakes go to the document.
  explicit YamlMerger(YamlDocument& document) : document_(document) {}

  // Puts the entries that the merge keys of `mapping` stand for in their place. All that it has is
  // complete, but for values that are `open`, of which it is the last.
  void Merge(YamlValue& mapping, const std::vector<YamlValue*>& open);

 private:
  void AddSource(const YamlValue& source, const YamlValue& key, YamlValue& mapping,
                 const std::vector<YamlValue*>& open);
  void Report(const YamlValue& key, const std::string& what);

  YamlDocument& document_;
  size_t merged_ = 0;
  std::set<std::string_view> known_;  // keys of the mapping
};

}  // namespace autodist::spec
