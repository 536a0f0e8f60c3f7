#include "spec/value_reader.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/did_you_mean.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

// Aliases can make a small text stand for any number of values.
constexpr size_t kMostValues = 1 << 19;
constexpr size_t kMostSpecProblems = 100;

using Kind = YamlValue::Kind;

// Ends the reading of a spec of which enough has been said.
struct EnoughRead {};

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

std::vector<Problem> ValueReader::Collect(const std::function<void()>& read) {
  bool all = true;
  try {
    read();
  } catch (const EnoughRead&) {
    all = false;
  }
  std::stable_sort(problems_.begin(), problems_.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  });
  if (!all) problems_.push_back({file_, 0, 0, "the rest of the file has not been checked"});
  return std::move(problems_);
}

void ValueReader::Report(Position where, const std::string& what) {
  if (problems_.size() == kMostSpecProblems) throw EnoughRead{};
  problems_.push_back({file_, where.line, where.column, what});
}

void ValueReader::Count(const YamlValue& yaml) {
  constexpr size_t kBytesPerValue = 16;  // a long text counts for several values
  values_ += 1 + yaml.text.size() / kBytesPerValue;
  CheckCount(yaml);
}

void ValueReader::CountCopies(const YamlValue& yaml, size_t values, size_t copies) {
  values_ += values * copies;
  CheckCount(yaml);
}

void ValueReader::CheckCount(const YamlValue& yaml) {
  if (values_ <= kMostValues) return;
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

bool ValueReader::ReadMapping(const YamlValue& yaml, const std::string& where,
                              const Handlers& handlers) {
  std::vector<std::string> keys;
  for (const auto& known : handlers) keys.push_back(known.first);
  if (!CheckKind(yaml, Kind::kMapping, where,
                 "a mapping with the keys " + base::Alternatives(keys))) {
    return false;
  }
  std::set<std::string> seen;
  ForEachEntry(yaml, [&](const YamlValue& key, const YamlValue& value) {
    const auto handler = std::find_if(handlers.begin(), handlers.end(), [&](const auto& known) {
      return key.kind == Kind::kText && known.first == key.text;
    });
    if (key.kind == Kind::kText && !seen.insert(key.text).second) {
      Report(key, "key " + Shown(key) + " appears twice in " + where + "; keep one of the two");
    } else if (handler != handlers.end()) {
      handler->second(value);
    } else {
      const std::string near = base::Nearest(key.text, keys);
      Report(key, "unknown key " + Shown(key) + " in " + where + "; " +
                      (near.empty() ? "known keys are " + base::Alternatives(keys)
                                    : "did you mean '" + near + "'?"));
    }
  });
  return true;
}

std::string ValueReader::ReadString(const YamlValue& yaml, const std::string& key) {
  if (yaml.text.empty()) {
    Report(yaml, "'" + key + "' is " + TypeName(yaml) + "; it should be a text");
  } else if (yaml.text.find('\0') != std::string::npos) {
    Report(yaml, "'" + key + "' is " + Shown(yaml) + "; it cannot contain a zero byte");
  } else {
    return yaml.text;
  }
  return "";
}

std::pair<std::string, ValueReader::Handler> ValueReader::Text(
    const std::string& key, std::string& to, Status (*check)(const std::string& text)) {
  return {key, [this, key, &to, check](const YamlValue& yaml) {
            std::string text = ReadString(yaml, key);
            const Status status = check && !text.empty() ? check(text) : OkStatus();
            if (status.ok()) {
              to = std::move(text);
            } else {
              Report(yaml, "'" + key + "': " + Message(status));
            }
          }};
}

}  // namespace autodist::spec
