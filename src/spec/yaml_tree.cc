#include "spec/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/utf8.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

using Kind = YamlValue::Kind;

Position PositionOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

constexpr size_t kMaxMistakes = 20;  // reported for a document
constexpr size_t kMaxMerged = 1 << 18;

bool IsMergeKey(const YamlValue& key) {
  return key.kind == Kind::kText && key.plain && key.text == "<<";
}

// Merge keys of YAML 1.1: "<<: *a", or "<<: [*a, *b]", adds the keys of other mappings to a
// mapping; its own take precedence, then the earlier ones. With any nesting of aliases, at most
// kMaxMerged entries are examined.
class YamlMerger {
 public:
  // Adds mistakes to the document.
  explicit YamlMerger(YamlDocument& document) : document_(document) {}

  // Replaces the merge keys of `mapping` with their entries. The mapping is complete, except for
  // values that are `open`, of which it is the last.
  void Merge(YamlValue& mapping, const std::vector<YamlValue*>& open);

 private:
  void AddSource(const YamlValue& source, const YamlValue& key, YamlValue& mapping,
                 const std::vector<YamlValue*>& open);
  void Report(const YamlValue& key, const std::string& what);

  YamlDocument& document_;
  size_t merged_ = 0;
  std::set<std::string_view> known_;  // keys of the mapping
};

void YamlMerger::Report(const YamlValue& key, const std::string& what) {
  if (document_.mistakes.size() < kMaxMistakes) document_.mistakes.push_back({key.position, what});
}

void YamlMerger::AddSource(const YamlValue& source, const YamlValue& key, YamlValue& mapping,
                           const std::vector<YamlValue*>& open) {
  if (source.kind != Kind::kMapping) {
    return Report(key, "'<<' takes a mapping, or a list of mappings, such as '<<: *gpu'");
  }
  if (std::ranges::find(open, &source) != open.end()) {
    return Report(key, "'<<' merges a mapping into itself");
  }
  if (merged_ > kMaxMerged) return;  // which has been reported
  merged_ += source.items.size() / 2 + 1;
  if (merged_ > kMaxMerged) {
    return Report(key,
                  "merge keys ('<<') stand for too many values; is one repeated over and over?");
  }
  for (size_t i = 0; i + 1 < source.items.size(); i += 2) {
    const YamlValue* const name = source.items[i];
    if (name->kind == Kind::kText && !known_.insert(name->text).second) continue;
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
    if (items[i]->kind == Kind::kText) known_.insert(items[i]->text);
    own.insert(own.end(), {items[i], items[i + 1]});
  }
  mapping.items = std::move(own);
  if (merges.size() > 1) {
    Report(*merges[1].first, "'<<' appears twice; write '<<: [*a, *b]', the one that wins first");
  }
  const auto& [key, value] = merges[0];
  if (value->kind != Kind::kList) return AddSource(*value, *key, mapping, open);
  for (const YamlValue* source : value->items) AddSource(*source, *key, mapping, open);
}

// Whether the tag adds no information. yaml-cpp uses "?" for no tag, and "!" for quotes.
bool IsKnownTag(const std::string& tag) {
  constexpr std::string_view kCore = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "?" || tag == "!") return true;
  if (!tag.starts_with(kCore)) return false;
  const std::string_view type = std::string_view(tag).substr(kCore.size());
  for (const std::string_view known : {"str", "int", "float", "bool", "null", "seq", "map"}) {
    if (type == known) return true;
  }
  return false;
}

// Builds the tree of the first document, and records where a second one starts.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlDocument& document) : document_(document) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) document_.second_document = PositionOf(mark);
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(Kind::kNull, mark, anchor);
  }
  void OnAlias(const YAML::Mark&, YAML::anchor_t anchor) override {
    if (documents_ != 1) return;
    YamlValue* const value = anchors_.at(anchor);
    value->aliased = true;
    Attach(value);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    YamlValue* const value = Add(Kind::kText, mark, anchor);
    if (!value) return;
    value->text = text;
    value->plain = tag.empty() || tag == "?";
    CheckTag(tag, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(Kind::kMapping, mark, tag, anchor);
  }
  void OnMapEnd() override {
    if (documents_ == 1) merger_.Merge(*open_.back(), open_);
    Close();
  }

 private:
  // Returns null outside of the first document.
  YamlValue* Add(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (documents_ != 1) return nullptr;
    YamlValue& value = document_.values.emplace_back();
    value.kind = kind;
    value.position = PositionOf(mark);
    if (anchor != YAML::NullAnchor) anchors_[anchor] = &value;
    Attach(&value);
    return &value;
  }

  void Open(Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    YamlValue* const value = Add(kind, mark, anchor);
    if (!value) return;
    open_.push_back(value);
    CheckTag(tag, mark);
  }

  void CheckTag(const std::string& tag, const YAML::Mark& mark) {
    if (IsKnownTag(tag) || !tags_.insert(tag).second || tags_.size() > kMaxMistakes) return;
    document_.mistakes.push_back(
        {PositionOf(mark), "the tag " + Quoted(tag) +
                               " is not known here: a resource spec is plain YAML; write the value "
                               "itself"});
  }

  void Attach(const YamlValue* value) {
    if (open_.empty()) {
      document_.root = value;
    } else {
      open_.back()->items.push_back(value);
    }
  }

  void Close() {
    if (documents_ == 1) open_.pop_back();
  }

  YamlDocument& document_;
  int documents_ = 0;
  std::vector<YamlValue*> open_;  // lists and mappings, the outermost first
  std::map<YAML::anchor_t, YamlValue*> anchors_;
  std::set<std::string> tags_;  // unknown tags
  YamlMerger merger_{document_};
};

}  // namespace

YamlDocument ParseYaml(const std::string& text) {
  YamlDocument document;
  std::istringstream stream(text);
  try {
    // Reads two documents at most: YAML::LoadAll never returns for some texts.
    YAML::Parser parser(stream);
    TreeBuilder builder(document);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const YAML::Mark mark = error.mark.is_null() ? YAML::Mark() : error.mark;
    document.error = {PositionOf(mark), base::Printable(error.msg)};
  }
  return document;
}

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
