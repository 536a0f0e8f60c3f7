// The keys of a spec. Each mapping has a table of keys, from which the reader,
// docs/resource_spec.schema.json and a table in docs/reference/spec.md are derived.
// tests/unit/spec/spec_docs_test.cc compares the last two with it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"
#include "spec/quoted.h"
#include "spec/value_reader.h"

namespace autodist::spec {

// The value of a key while it is read. All issues are reported.
struct KeyedValue {
  ValueReader& reader;
  const YamlValue& value;
  const char* name;

  void Report(const std::string& what) const { reader.Report(value, what); }

  // Reads a text that passes `check` into `to`.
  void Text(std::string& to, Status (*check)(const std::string& text) = nullptr) const {
    std::string text = reader.ReadString(value, name);
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
