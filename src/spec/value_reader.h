// Reads the values of a YAML document, and collects the issues.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "spec/issue.h"
#include "spec/quoted.h"
#include "spec/yaml_tree.h"

namespace autodist::spec {

// "a list", "a mapping", "a single value" or "empty".
const char* TypeName(const YamlValue& yaml);

// Formats a value for a message: the text in quotes, or its type.
std::string Shown(const YamlValue& yaml);

// The documentation and schema of a key.
struct KeyText {
  const char* name;
  const char* value;        // valid values and the default, in Markdown
  const char* meaning;      // in Markdown
  std::string schema;       // JSON Schema of the value, without braces
  const char* examples;     // JSON values, with commas between them; may be empty
  const char* others = "";  // names of the key in other formats, with blanks between them
};

// Call the other functions only within Collect(), which they leave when there are too many issues
// or, because of aliases, too many values.
class ValueReader {
 public:
  using Handler = std::function<void(const YamlValue& value)>;
  using EntryHandler = std::function<void(const YamlValue& key, const YamlValue& value)>;

  explicit ValueReader(std::string file) : file_(std::move(file)) {}

  // Runs `read`, and returns the issues that it reported, in file order.
  std::vector<Issue> Collect(const std::function<void()>& read);

  void Report(Position where, const std::string& what);
  void Report(const YamlValue& yaml, const std::string& what) { Report(yaml.position, what); }

  // Checks the kind and reports an issue if it differs; `wanted` describes a valid `what`.
  bool CheckKind(const YamlValue& yaml, YamlValue::Kind kind, const std::string& what,
                 const std::string& wanted);
  void ForEach(const YamlValue& list, const Handler& handler);
  void ForEachEntry(const YamlValue& mapping, const EntryHandler& handler);
  // Calls `read` for each of `keys` that exists; reports unknown and repeated keys, except unknown
  // ones that are `passed_over`. Reads the value of a misspelt key too, because reporting it as
  // missing would only repeat the issue. Returns the positions of the values that were read;
  // nullopt if it is not a mapping.
  using KeyHandler = std::function<void(size_t key, const YamlValue& value)>;
  using EntryPredicate = bool (*)(const YamlValue& key, const YamlValue& value);
  using Given = std::map<std::string, Position>;
  std::optional<Given> ReadMapping(const YamlValue& yaml, const std::string& where,
                                   const std::vector<KeyText>& keys, const KeyHandler& read,
                                   EntryPredicate passed_over);

  const std::string& file() const { return file_; }

  // The number of values read so far; a long text counts as several.
  size_t values() const { return values_; }
  // Counts further copies of `yaml`, which has `values` values.
  void CountCopies(const YamlValue& yaml, size_t values, size_t copies);

  // Reads a text that may be for a shell or another program; "" after reporting an issue.
  std::string ReadString(const YamlValue& yaml, const std::string& key);
  // Reads a text that stands for itself: variables and commands of a shell are issues.
  std::string ReadLiteral(const YamlValue& yaml, const std::string& key);

  // Reads such a text and converts it with `read`; nullopt after reporting an issue.
  template <typename T>
  std::optional<T> ReadAs(const YamlValue& yaml, const std::string& key,
                          Result<T> (*read)(const std::string& text)) {
    const std::string text = ReadLiteral(yaml, key);
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

// JSON Schemas of values, for the tables of keys.

// "type": "string", not empty.
std::string TextSchema();
// A text that the regular expression matches completely.
std::string PatternSchema(const std::string& pattern);
// A list of such values.
std::string ListSchema(const std::string& entry);

// Regular expressions for addresses as spec/address.h parses them.
std::string AddressPattern();    // a host or a range, in brackets with a port
std::string HostsPattern();      // a host or a range
std::string ProxyJumpPattern();  // jump hosts, with users and ports

// The keys of a spec. Each mapping has a table of keys, from which the reader,
// docs/resource_spec.schema.json and a table in docs/reference/spec.md are derived.
// tests/unit/spec/spec_docs_test.cc compares the last two with it.

// The value of a key while it is read. All issues are reported.
struct KeyedValue {
  ValueReader& reader;
  const YamlValue& value;
  const char* name;

  void Report(const std::string& what) const { reader.Report(value, what); }

  // Reads a text that stands for itself and passes `check` into `to`.
  void Text(std::string& to, Status (*check)(const std::string& text) = nullptr) const {
    std::string text = reader.ReadLiteral(value, name);
    const Status status = check && !text.empty() ? check(text) : OkStatus();
    if (!status.ok()) return Report("'" + std::string(name) + "': " + Message(status));
    to = std::move(text);
  }

  // Reads a text and converts it with `read`.
  template <typename Value>
  std::optional<Value> As(Result<Value> (*read)(const std::string& text)) const {
    return reader.ReadAs(value, name, read);
  }

  // Reads a list of texts and converts each with `read`; `wanted` describes the list.
  template <typename Value>
  std::vector<Value> List(const char* wanted,
                          Result<Value> (*read)(const std::string& text)) const {
    std::vector<Value> values;
    if (!IsList(wanted)) return values;
    reader.ForEach(value, [&](const YamlValue& entry) {
      if (auto one = reader.ReadAs(entry, name, read)) values.push_back(*std::move(one));
    });
    return values;
  }

  bool IsList(const char* wanted) const {
    return reader.CheckKind(value, YamlValue::Kind::kList, Quoted(name), wanted);
  }
};

// A key of a mapping that is read into a T.
template <typename T>
struct Key {
  KeyText text;
  void (*read)(const KeyedValue& in, T& to);
};

// Concatenates several tables.
template <typename T>
std::vector<Key<T>> Joined(const std::vector<std::vector<Key<T>>>& parts) {
  std::vector<Key<T>> keys;
  for (const auto& part : parts) keys.insert(keys.end(), part.begin(), part.end());
  return keys;
}

template <typename T>
std::vector<KeyText> TextsOf(const std::vector<Key<T>>& keys) {
  std::vector<KeyText> texts;
  texts.reserve(keys.size());
  for (const Key<T>& key : keys) texts.push_back(key.text);
  return texts;
}

// Reads a mapping like ValueReader::ReadMapping.
template <typename T>
std::optional<ValueReader::Given> ReadKeys(ValueReader& reader, const YamlValue& yaml,
                                           const std::string& where,
                                           const std::vector<Key<T>>& keys, T& to,
                                           ValueReader::EntryPredicate passed_over = nullptr) {
  return reader.ReadMapping(
      yaml, where, TextsOf(keys),
      [&](size_t key, const YamlValue& value) {
        keys[key].read({reader, value, keys[key].text.name}, to);
      },
      passed_over);
}

}  // namespace autodist::spec
