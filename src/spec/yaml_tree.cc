#include "spec/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "base/utf8.h"
#include "spec/quoted.h"
#include "spec/yaml_merge.h"

namespace autodist::spec {
namespace {

using Kind = YamlValue::Kind;

Position PositionOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Tags that say what a value is anyway. yaml-cpp has "?" for none, and "!" for quotes.
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

// Builds the tree of the first document, and takes note of where a second one starts.
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
  // Null for what is not in the first document.
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
    if (IsKnownTag(tag) || !tags_.insert(tag).second || tags_.size() > kMostMistakes) return;
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
  std::vector<YamlValue*> open_;  // lists and mappings, from the outermost
  std::map<YAML::anchor_t, YamlValue*> anchors_;
  std::set<std::string> tags_;  // that are not known
  YamlMerger merger_{document_};
};

}  // namespace

YamlDocument ParseYaml(const std::string& text) {
  YamlDocument document;
  std::istringstream stream(text);
  try {
    // Two at most: YAML::LoadAll loops for ever on some texts.
    YAML::Parser parser(stream);
    TreeBuilder builder(document);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    const YAML::Mark mark = error.mark.is_null() ? YAML::Mark() : error.mark;
    document.error = {PositionOf(mark), base::Printable(error.msg)};
  }
  return document;
}

}  // namespace autodist::spec
