// Reads the values of a YAML document, and collects what is wrong with them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autodist/status.h"
#include "spec/issue.h"
#include "spec/yaml_tree.h"

namespace autodist::spec {

// "a list", "a mapping", "a single value" or "empty".
const char* TypeName(const YamlValue& yaml);

// A value as a message names it: the text in quotes, or its type.
std::string Shown(const YamlValue& yaml);

// What is known of a key besides how it is read.
struct KeyText {
  const char* name;
  const char* value;        // what it has to be, and the default, in Markdown
  const char* meaning;      // in Markdown
  std::string schema;       // of the value, as JSON Schema has it, without braces
  const char* examples;     // of the value, as JSON, with commas between them; may be empty
  const char* others = "";  // names that it has in other formats, with blanks between them
};

// The rest is to be called within Collect() alone, which it leaves where there are too many
// issues or, because of aliases, too many values.
class ValueReader {
 public:
  using Handler = std::function<void(const YamlValue& value)>;
  using EntryHandler = std::function<void(const YamlValue& key, const YamlValue& value)>;

  explicit ValueReader(std::string file) : file_(std::move(file)) {}

  // Runs `read`, and returns what was reported meanwhile, in file order.
  std::vector<Issue> Collect(const std::function<void()>& read);

  void Report(Position where, const std::string& what);
  void Report(const YamlValue& yaml, const std::string& what) { Report(yaml.position, what); }

  // Whether it is of this kind. Reports it if not; `wanted` is what `what` should be.
  bool CheckKind(const YamlValue& yaml, YamlValue::Kind kind, const std::string& what,
                 const std::string& wanted);
  void ForEach(const YamlValue& list, const Handler& handler);
  void ForEachEntry(const YamlValue& mapping, const EntryHandler& handler);
  // Calls `read` for each of `keys` that is there; reports unknown and repeated keys, but for
  // unknown ones that are `passed_over`. The value of a misspelt key is read all the same: that it
  // is missing would be only a consequence. Returns where the values of keys are that were read;
  // nullopt if not a mapping.
  using KeyHandler = std::function<void(size_t key, const YamlValue& value)>;
  using EntryPredicate = bool (*)(const YamlValue& key, const YamlValue& value);
  using Given = std::map<std::string, Position>;
  std::optional<Given> ReadMapping(const YamlValue& yaml, const std::string& where,
                                   const std::vector<KeyText>& keys, const KeyHandler& read,
                                   EntryPredicate passed_over);

  const std::string& file() const { return file_; }

  // How many were read, a long text counting for several.
  size_t values() const { return values_; }
  // Of `yaml`, which has that many, so many copies are made.
  void CountCopies(const YamlValue& yaml, size_t values, size_t copies);

  // A text; empty if it is none, which has been reported.
  std::string ReadString(const YamlValue& yaml, const std::string& key);

  // What `read` makes of a text; nullopt if there is something wrong, which has been reported.
  template <typename T>
  std::optional<T> ReadAs(const YamlValue& yaml, const std::string& key,
                          Result<T> (*read)(const std::string& text)) {
    const std::string text = ReadString(yaml, key);
    if (text.empty()) return std::nullopt;
    Result<T> value = read(text);
    if (value.ok()) return *std::move(value);
    Report(yaml, "'" + key + "': " + Message(value.status()));
    return std::nullopt;
  }

 private:
  void Count(const YamlValue& yaml);
  void CheckCount(const YamlValue& yaml);

  const std::string file_;
  std::vector<Issue> issues_;
  size_t values_ = 0;
};

}  // namespace autodist::spec
