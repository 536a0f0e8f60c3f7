#include "spec/key.h"

#include <utility>

#include "spec/quoted.h"

namespace autodist::spec {

void KeyedValue::Text(std::string& to, Status (*check)(const std::string& text)) const {
  std::string text = reader.ReadString(value, name);
  const Status status = check && !text.empty() ? check(text) : OkStatus();
  if (status.ok()) {
    to = std::move(text);
  } else {
    Report("'" + std::string(name) + "': " + Message(status));
  }
}

bool KeyedValue::IsList(const char* wanted) const {
  return reader.CheckKind(value, YamlValue::Kind::kList, Quoted(name), wanted);
}

}  // namespace autodist::spec
