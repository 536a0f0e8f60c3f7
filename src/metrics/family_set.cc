#include "metrics/family_set.h"

#include <absl/strings/ascii.h>

#include <algorithm>

#include "base/utf8.h"

namespace autodist::metrics {
namespace {

constexpr size_t kMaxLabelLength = 256;  // bytes

}  // namespace

void FamilySet::Add(Type type, std::string_view name, std::string_view help, const Labels& labels,
                    std::optional<double> value) {
  if (!value) return;
  Labels kept;
  for (const Label& label : labels) {
    if (label.value.empty()) continue;
    kept.push_back({label.name, base::ToUtf8(base::Printable(label.value), kMaxLabelLength)});
  }
  const auto [found, added] = index_.try_emplace(name, families_.size());
  if (added) {
    families_.push_back({std::string(name), std::string(help), type, {}});
    labels_.emplace_back();
  }
  if (!labels_[found->second].insert(kept).second) return;
  families_[found->second].samples.push_back({std::move(kept), *value});
}

Labels With(Labels labels, std::initializer_list<Label> more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

std::string Word(std::string_view enumerator, std::string_view prefix) {
  return absl::AsciiStrToLower(
      std::string(enumerator.substr(std::min(prefix.size(), enumerator.size()))));
}

}  // namespace autodist::metrics
