#include "spec/value_reader.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "base/did_you_mean.h"
#include "spec/quoted.h"

namespace autodist::spec {
namespace {

// Aliases can make a small text stand for any number of values.
constexpr size_t kMostValues = 1 << 19;
constexpr size_t kMostSpecProblems = 100;

using Kind = YamlValue::Kind;

// What others call our keys.
struct OtherName {
  std::string_view name;
  std::string_view ours;
};
constexpr OtherName kNamesElsewhere[] = {{"host", "address"},
                                         {"hostname", "address"},
                                         {"ip", "address"},
                                         {"name", "address"},
                                         {"node", "address"},
                                         {"addr", "address"},
                                         {"devices", "gpus"},
                                         {"num_gpus", "gpus"},
                                         {"slots", "gpus"},
                                         {"num_cpus", "cpus"},
                                         {"user", "username"},
                                         {"ssh_user", "username"},
                                         {"identity_file", "key_file"},
                                         {"ssh_private_key", "key_file"},
                                         {"private_key", "key_file"},
                                         {"key", "key_file"},
                                         {"jump", "proxy_jump"},
                                         {"env", "shared_envs"},
                                         {"envs", "shared_envs"},
                                         {"environment", "shared_envs"},
                                         {"venv", "python_venv"},
                                         {"ssh", "ssh_config"},
                                         {"group", "ssh_config"},
                                         {"hosts", "nodes"},
                                         {"machines", "nodes"},
                                         {"workers", "nodes"},
                                         {"ssh_configs", "ssh"}};

// The key that is meant by an unknown one; "" where none is. `present` are those that are there.
std::string Meant(const std::string& word, const std::vector<std::string>& keys,
                  const std::set<std::string>& present) {
  const auto known = [&](std::string_view key) {
    return std::ranges::find(keys, key) != keys.end() && !present.contains(std::string(key));
  };
  for (const auto& [name, ours] : kNamesElsewhere) {
    if (word == name && known(ours)) return std::string(ours);
  }
  return base::Nearest(word, keys);
}

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
                              const Handlers& handlers, EntryPredicate passed_over) {
  std::vector<std::string> keys;
  for (const auto& known : handlers) keys.push_back(known.first);
  if (!CheckKind(yaml, Kind::kMapping, where,
                 "a mapping with the keys " + base::Alternatives(keys))) {
    return false;
  }
  std::set<std::string> present;
  for (size_t i = 0; i + 1 < yaml.items.size(); i += 2) present.insert(yaml.items[i]->text);
  const auto handler_of = [&](const std::string& key) {
    return std::ranges::find_if(handlers, [&](const auto& known) { return known.first == key; });
  };
  std::set<std::string> seen;
  ForEachEntry(yaml, [&](const YamlValue& key, const YamlValue& value) {
    const auto handler = key.kind == Kind::kText ? handler_of(key.text) : handlers.end();
    if (key.kind == Kind::kText && !seen.insert(key.text).second) {
      Report(key, "key " + Shown(key) + " appears twice in " + where + "; keep one of the two");
    } else if (handler != handlers.end()) {
      handler->second(value);
    } else if (!passed_over || !passed_over(key, value)) {
      const std::string near = Meant(key.text, keys, present);
      Report(key, "unknown key " + Shown(key) + " in " + where + "; " +
                      (near.empty() ? "known keys are " + base::Alternatives(keys)
                                    : "did you mean '" + near + "'?"));
      const bool missing = !near.empty() && !present.contains(near) && seen.insert(near).second;
      if (missing) handler_of(near)->second(value);
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
