#include "spec/value_reader.h"

#include <absl/strings/str_split.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/did_you_mean.h"
#include "base/json_quote.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

// Aliases can expand a small text to any number of values.
constexpr size_t kMaxValues = 1 << 19;
constexpr size_t kMaxSpecIssues = 100;

using Kind = YamlValue::Kind;

bool Has(const std::string& words, const std::string& word) {
  const std::vector<std::string> all = absl::StrSplit(words, ' ');
  return std::ranges::find(all, word) != all.end();
}

// Returns the known key that an unknown one resembles, or "". `present` are the existing keys.
std::string Meant(const std::string& word, const std::vector<KeyText>& keys,
                  const std::vector<std::string>& names, const std::set<std::string>& present) {
  for (const KeyText& key : keys) {
    if (Has(key.others, word) && !present.contains(key.name)) return key.name;
  }
  return base::Nearest(word, names);
}

// Thrown to stop reading a spec that has too many issues.
struct EnoughRead {};

constexpr char kName[] = R"([A-Za-z0-9_][A-Za-z0-9._-]{0,252})";
constexpr char kIpv6[] = R"([0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(%[^\s/:%\]]{1,15})?)";
constexpr char kPort[] = R"((:[1-9][0-9]{0,4})?)";

std::string Range() {
  const std::string numbers = "[0-9]{1,9}(-[0-9]{1,9})?";
  return R"([A-Za-z0-9_][A-Za-z0-9._-]*(\[)" + numbers + "(," + numbers +
         R"()*\][A-Za-z0-9._-]*)+)";
}

std::string Hosts() { return kName + ("|" + Range()) + "|" + kIpv6; }

}  // namespace

const char* TypeName(const YamlValue& yaml) {
  switch (yaml.kind) {
    case Kind::kList:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
    case Kind::kText:
      return yaml.text.empty() ? "empty" : "a single value";
    case Kind::kNull:
      break;
  }
  return "empty";
}

std::string Shown(const YamlValue& yaml) {
  return yaml.kind == Kind::kText ? Quoted(yaml.text) : TypeName(yaml);
}

std::vector<Issue> ValueReader::Collect(const std::function<void()>& read) {
  bool all = true;
  try {
    read();
  } catch (const EnoughRead&) {
    all = false;
  }
  std::stable_sort(issues_.begin(), issues_.end(), [](const Issue& a, const Issue& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  if (!all) issues_.push_back({file_, 0, 0, "the rest of the file has not been checked"});
  return std::move(issues_);
}

void ValueReader::Report(Position where, const std::string& what) {
  if (issues_.size() == kMaxSpecIssues) throw EnoughRead{};
  issues_.push_back({file_, where.line, where.column, what});
}

void ValueReader::Count(const YamlValue& yaml) {
  constexpr size_t kBytesPerValue = 16;  // a long text counts as several values
  values_ += 1 + yaml.text.size() / kBytesPerValue;
  CheckCount(yaml);
}

void ValueReader::CountCopies(const YamlValue& yaml, size_t values, size_t copies) {
  values_ += values * copies;
  CheckCount(yaml);
}

void ValueReader::CheckCount(const YamlValue& yaml) {
  if (values_ <= kMaxValues) return;
  Report(yaml, "the spec has too many values; is an alias repeated over and over?");
  throw EnoughRead{};
}

bool ValueReader::CheckKind(const YamlValue& yaml, Kind kind, const std::string& what,
                            const std::string& wanted) {
  if (yaml.kind == kind) return true;
  Report(yaml, what + " is " + TypeName(yaml) + "; it should be " + wanted);
  return false;
}

void ValueReader::ForEach(const YamlValue& list, const Handler& handler) {
  for (const YamlValue* entry : list.items) {
    Count(*entry);
    handler(*entry);
  }
}

void ValueReader::ForEachEntry(const YamlValue& mapping, const EntryHandler& handler) {
  for (size_t i = 0; i + 1 < mapping.items.size(); i += 2) {
    Count(*mapping.items[i]);
    Count(*mapping.items[i + 1]);
    handler(*mapping.items[i], *mapping.items[i + 1]);
  }
}

std::optional<ValueReader::Given> ValueReader::ReadMapping(const YamlValue& yaml,
                                                           const std::string& where,
                                                           const std::vector<KeyText>& keys,
                                                           const KeyHandler& read,
                                                           EntryPredicate passed_over) {
  std::vector<std::string> names;
  names.reserve(keys.size());
  for (const KeyText& key : keys) names.push_back(key.name);
  if (!CheckKind(yaml, Kind::kMapping, where,
                 "a mapping with the keys " + base::Alternatives(names))) {
    return std::nullopt;
  }
  std::set<std::string> present;
  for (size_t i = 0; i + 1 < yaml.items.size(); i += 2) present.insert(yaml.items[i]->text);
  Given given;
  std::set<std::string> seen;
  const auto read_as = [&](const std::string& name, const YamlValue& value) {
    given.emplace(name, value.position);
    read(static_cast<size_t>(std::ranges::find(names, name) - names.begin()), value);
  };
  ForEachEntry(yaml, [&](const YamlValue& key, const YamlValue& value) {
    const bool text = key.kind == Kind::kText;
    if (text && !seen.insert(key.text).second) {
      Report(key, "key " + Shown(key) + " appears twice in " + where + "; keep one of the two");
    } else if (text && std::ranges::count(names, key.text) > 0) {
      read_as(key.text, value);
    } else if (!passed_over || !passed_over(key, value)) {
      const std::string near = Meant(key.text, keys, names, present);
      Report(key, "unknown key " + Shown(key) + " in " + where + "; " +
                      (near.empty() ? "known keys are " + base::Alternatives(names)
                                    : "did you mean '" + near + "'?"));
      if (!near.empty() && !present.contains(near) && !given.contains(near)) read_as(near, value);
    }
  });
  return given;
}

std::string ValueReader::ReadString(const YamlValue& yaml, const std::string& key) {
  if (yaml.text.empty()) {
    // YAML reads "{{ name }}" as a mapping whose key is a mapping.
    const bool braces =
        yaml.kind == Kind::kMapping && !yaml.items.empty() && yaml.items[0]->kind == Kind::kMapping;
    Report(yaml, "'" + key + "' is " + TypeName(yaml) + "; it should be a text" +
                     (braces ? "; " + ShellNotation("{{") : ""));
  } else if (yaml.text.find('\0') != std::string::npos) {
    Report(yaml, "'" + key + "' is " + Shown(yaml) + "; it cannot contain a zero byte");
  } else {
    return yaml.text;
  }
  return "";
}

std::string ValueReader::ReadLiteral(const YamlValue& yaml, const std::string& key) {
  std::string text = ReadString(yaml, key);
  const std::string why = ShellNotation(text);
  if (why.empty()) return text;
  Report(yaml, "'" + key + "' is " + Shown(yaml) + ": " + why);
  return "";
}

std::string TextSchema() { return R"("type": "string", "minLength": 1)"; }

std::string PatternSchema(const std::string& pattern) {
  return R"("type": "string", "pattern": )" + base::JsonQuoted("^(" + pattern + ")$");
}

std::string ListSchema(const std::string& entry) {
  return R"("type": "array", "items": {)" + entry + "}";
}

std::string AddressPattern() { return Hosts() + R"(|\[()" + Hosts() + R"()\])" + kPort; }

std::string HostsPattern() { return Hosts(); }

std::string ProxyJumpPattern() {
  const std::string special = R"(,'`";&<>|(){}\[\]:\\)";
  const std::string user = R"(([^\s\-@)" + special + R"(][^\s)" + special + "]*@)?";
  const std::string host = std::string("(") + kName + R"(|\[()" + kName + "|" + kIpv6 + R"()\]))";
  const std::string hop = user + host + kPort;
  return "none|" + hop + "(," + hop + ")*";
}

}  // namespace autodist::spec
