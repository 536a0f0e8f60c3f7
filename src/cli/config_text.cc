#include "cli/config_text.h"

#include <algorithm>
#include <cctype>

namespace autodist::cli {
namespace {

bool IsKeyCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// Parses a text from front to back and counts its lines.
class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : rest_(text) {}

  Result<std::vector<ConfigSetting>> Read() {
    while (SkipToText()) {
      AD_RETURN_IF_ERROR(rest_.front() == '[' ? ReadTable() : ReadSetting());
      AD_RETURN_IF_ERROR(EndLine());
    }
    return std::move(settings_);
  }

 private:
  Status Wrong(const std::string& what) const {
    return Error(StatusCode::kInvalidArgument, "line " + std::to_string(line_) + ": " + what);
  }

  std::string RestOfLine() const { return std::string(rest_.substr(0, rest_.find('\n'))); }

  char Front() const { return rest_.empty() ? '\n' : rest_.front(); }

  void SkipBlanks() {
    while (!rest_.empty() && (Front() == ' ' || Front() == '\t' || Front() == '\r')) Skip();
    if (Front() == '#') rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
  }

  void Skip() {
    if (rest_.front() == '\n') ++line_;
    rest_.remove_prefix(1);
  }

  // Skips blank lines and comments; returns false at the end of the text.
  bool SkipToText() {
    SkipBlanks();
    while (!rest_.empty() && Front() == '\n') {
      Skip();
      SkipBlanks();
    }
    return !rest_.empty();
  }

  Status EndLine() {
    SkipBlanks();
    if (Front() == '\n') return OkStatus();
    return Wrong("'" + RestOfLine() + "' follows the value");
  }

  std::string TakeKey() {
    size_t length = 0;
    while (length < rest_.size() && IsKeyCharacter(rest_[length])) ++length;
    std::string key(rest_.substr(0, length));
    rest_.remove_prefix(length);
    std::ranges::replace(key, '_', '-');
    return key;
  }

  Status ReadTable() {
    const std::string line = RestOfLine();
    Skip();
    table_ = TakeKey();
    if (table_.empty() || Front() != ']') {
      return Wrong("'" + line + "' is not a table; tables are commands, such as [run]");
    }
    Skip();
    return OkStatus();
  }

  Status ReadSetting() {
    const std::string line = RestOfLine();
    ConfigSetting setting;
    setting.table = table_;
    setting.line = line_;
    setting.key = TakeKey();
    SkipBlanks();
    if (setting.key.empty() || Front() != '=') {
      return Wrong("'" + line + "' is not KEY = VALUE, such as grace = \"2m\"");
    }
    Skip();
    SkipBlanks();
    AD_RETURN_IF_ERROR(ReadValue(setting));
    for (const ConfigSetting& other : settings_) {
      if (other.table != setting.table || other.key != setting.key) continue;
      return Error(StatusCode::kInvalidArgument, "line " + std::to_string(setting.line) + ": '" +
                                                     setting.key + "' is already set in line " +
                                                     std::to_string(other.line));
    }
    settings_.push_back(std::move(setting));
    return OkStatus();
  }

  Status ReadValue(ConfigSetting& setting) {
    if (Front() != '[') {
      setting.values.emplace_back();
      return ReadScalar(setting.values[0], setting.kind);
    }
    setting.kind = ConfigSetting::Kind::kList;
    Skip();
    while (SkipToText() && Front() != ']') {
      setting.values.emplace_back();
      ConfigSetting::Kind kind;
      AD_RETURN_IF_ERROR(ReadScalar(setting.values.back(), kind));
      if (!SkipToText() || (Front() != ',' && Front() != ']')) break;
      if (Front() == ',') Skip();
    }
    if (rest_.empty() || Front() != ']') return Wrong("the list is not closed by ']'");
    Skip();
    return OkStatus();
  }

  Status ReadScalar(std::string& value, ConfigSetting::Kind& kind) {
    kind = ConfigSetting::Kind::kText;
    if (Front() == '"' || Front() == '\'') return ReadString(value);
    const size_t length = std::min(rest_.find_first_of(" \t\r\n,]#"), rest_.size());
    value = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (value == "true" || value == "false") {
      kind = ConfigSetting::Kind::kBoolean;
      return OkStatus();
    }
    kind = ConfigSetting::Kind::kNumber;
    const bool number = !value.empty() && value.find_first_of("0123456789") != value.npos &&
                        value.find_first_not_of("0123456789.-+") == value.npos;
    if (number) return OkStatus();
    return Wrong(value.empty()
                     ? "a value is missing"
                     : "'" + value + "' is not a number, true or false; put text in quotes: \"" +
                           value + "\"");
  }

  Status ReadString(std::string& value) {
    const char quote = Front();
    if (rest_.starts_with(std::string(3, quote))) {
      return Wrong("text of several lines is not supported");
    }
    Skip();
    while (Front() != quote) {
      if (Front() == '\n') return Wrong("the text is not closed by " + std::string(1, quote));
      if (quote == '"' && Front() == '\\') {
        Skip();
        AD_RETURN_IF_ERROR(ReadEscape(value));
      } else {
        value += Front();
        Skip();
      }
    }
    Skip();
    return OkStatus();
  }

  Status ReadEscape(std::string& value) {
    constexpr std::string_view kEscaped = "\"\\ntbrf";
    constexpr std::string_view kMeant = "\"\\\n\t\b\r\f";
    const size_t which = kEscaped.find(Front());
    if (which == kEscaped.npos || rest_.empty()) {
      return Wrong("'\\" + std::string(1, Front()) + "' is not supported in a text");
    }
    value += kMeant[which];
    Skip();
    return OkStatus();
  }

  std::string_view rest_;
  int line_ = 1;
  std::string table_;
  std::vector<ConfigSetting> settings_;
};

}  // namespace

Result<std::vector<ConfigSetting>> ParseConfig(std::string_view text) {
  return ConfigReader(text).Read();
}

}  // namespace autodist::cli
