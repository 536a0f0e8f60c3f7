#include "spec/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <sstream>

#include "base/utf8.h"

namespace autodist::spec {
namespace {

using Kind = YamlValue::Kind;

Position PositionOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

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
    if (documents_ == 1) Attach(anchors_.at(anchor));
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& text) override {
    if (YamlValue* value = Add(Kind::kText, mark, anchor)) value->text = text;
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (YamlValue* value = Add(Kind::kList, mark, anchor)) open_.push_back(value);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (YamlValue* value = Add(Kind::kMapping, mark, anchor)) open_.push_back(value);
  }
  void OnMapEnd() override { Close(); }

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
  std::map<YAML::anchor_t, const YamlValue*> anchors_;
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
