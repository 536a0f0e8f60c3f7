#include "cli/config_defaults.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/did_you_mean.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "cli/help_text.h"
#include "reach/own_file.h"

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
    if (!setting.key.empty() && Front() == '.') {
      return Wrong("'" + line +
                   "': a key with a dot is not supported; write the key below a line " +
                   "with its table, such as [run]");
    }
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

constexpr size_t kMaxConfigSize = 1 << 20;  // bytes

// Options that select the nodes.
constexpr const char* kNodes[] = {"--spec", "--hosts", "--slurm", "--kubernetes",
                                  "--nproc-per-node"};

Status WrongLine(const ConfigSetting& setting, const std::string& what, const std::string& remedy) {
  return WithRemedy(
      Error(StatusCode::kInvalidArgument, "line " + std::to_string(setting.line) + ": " + what),
      remedy);
}

std::vector<std::string> LongNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

// Null if config.toml cannot set the option.
const CLI::Option* OptionFor(const CLI::App& command, const std::string& key) {
  if (key == "help" || key == "no-config") return nullptr;
  const CLI::Option* option = command.get_option_no_throw("--" + key);
  return option && option->nonpositional() && IsListed(*option) ? option : nullptr;
}

bool IsGiven(const CLI::Option& option, const std::vector<std::string>& argv) {
  const auto names = [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with("--")) return option.check_name(name);
    // -n4
    return word.size() > 1 && word[0] == '-' && option.check_name(word.substr(0, 2));
  };
  return std::ranges::any_of(argv.begin() + 1, argv.end(), names);
}

// Whether an option on the command line replaces this one.
bool IsReplaced(const CLI::App& command, const CLI::Option& option,
                const std::vector<std::string>& argv) {
  if (IsGiven(option, argv)) return true;
  const auto given = [&](const CLI::Option* other) { return other && IsGiven(*other, argv); };
  const auto& excludes = option.get_excludes();
  if (std::ranges::any_of(excludes, given)) return true;
  const bool of_nodes = std::ranges::any_of(
      kNodes, [&](const char* name) { return command.get_option_no_throw(name) == &option; });
  return of_nodes && std::ranges::any_of(kNodes, [&](const char* name) {
           return given(command.get_option_no_throw(name));
         });
}

// Whether an option that this one needs is missing: `autodist ps` accepts --spec only with
// --chief-on.
bool LacksAnother(const CLI::Option& option, const std::vector<std::string>& argv,
                  const std::vector<ConfigSetting>& settings) {
  return std::ranges::any_of(option.get_needs(), [&](const CLI::Option* needed) {
    return !IsGiven(*needed, argv) &&
           std::ranges::none_of(settings, [&](const ConfigSetting& setting) {
             return (setting.table.empty() || setting.table == argv.front()) &&
                    needed->check_lname(setting.key);
           });
  });
}

Result<std::vector<std::string>> ArgvFor(const CLI::Option& option, const ConfigSetting& setting) {
  using Kind = ConfigSetting::Kind;
  const std::string name = "--" + setting.key;
  const bool flag = option.get_items_expected_max() == 0;
  if (setting.kind == Kind::kBoolean) {
    if (!flag && option.get_items_expected_min() > 0) {
      return WrongLine(setting, name + " takes a value, not true or false", "");
    }
    return setting.values[0] == "true" ? std::vector<std::string>{name}
                                       : std::vector<std::string>();
  }
  if (flag) return WrongLine(setting, name + " takes no value", "give true or false");
  // A comma-separated list is one value.
  const bool several = option.get_items_expected_max() > 1;
  if (setting.kind == Kind::kList && !several && setting.values.size() != 1) {
    return WrongLine(setting, name + " takes one value", "");
  }
  std::vector<std::string> argv;
  for (const std::string& value : setting.values) {
    if (value.empty()) return WrongLine(setting, name + ": the value is empty", "");
    argv.push_back(name + "=" + value);
  }
  return argv;
}

}  // namespace

Result<std::vector<ConfigSetting>> ParseConfig(std::string_view text) {
  return ConfigReader(text).Read();
}

std::string ConfigPath() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && config[0] == '/') return std::string(config) + "/autodist/config.toml";
  const std::string home = base::HomeFolder();
  return home.empty() ? "" : home + "/.config/autodist/config.toml";
}

Result<std::vector<ConfigSetting>> ReadConfig(const std::string& path) {
  if (path.empty() || access(path.c_str(), F_OK) != 0) return std::vector<ConfigSetting>();
  const Status own = reach::CheckNoOthersWrite(path);
  if (!own.ok()) {
    return WithRemedy(own, (Remedy(own).empty() ? "" : Remedy(own) + ", or ") + "give --no-config");
  }
  AD_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxConfigSize));
  return ParseConfig(text);
}

Result<std::vector<std::string>> DefaultArgv(const CLI::App& app,
                                             const std::vector<std::string>& argv,
                                             const std::vector<ConfigSetting>& settings) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const auto command_named = [&](const std::string& name) -> const CLI::App* {
    const auto found = std::ranges::find(commands, name, &CLI::App::get_name);
    return found == commands.end() ? nullptr : *found;
  };
  const CLI::App* const command = argv.empty() ? nullptr : command_named(argv.front());
  std::vector<std::string> defaults;
  for (const ConfigSetting& setting : settings) {
    const CLI::App* const of = setting.table.empty() ? nullptr : command_named(setting.table);
    if (!setting.table.empty() && !of) {
      return WrongLine(setting, "there is no command '" + setting.table + "'",
                       "`autodist --help` lists the commands");
    }
    const bool known = of ? OptionFor(*of, setting.key) != nullptr
                          : std::ranges::any_of(commands, [&](const CLI::App* it) {
                              return OptionFor(*it, setting.key) != nullptr;
                            });
    if (!known) {
      const std::string nearest =
          base::Nearest(setting.key, LongNames(of ? *of : *command_named("run")));
      return WrongLine(setting,
                       (of ? setting.table : std::string("no command")) + " has " +
                           (of ? "no option '" : "an option '") + setting.key + "'",
                       nearest.empty() ? "" : "did you mean " + nearest + "?");
    }
    if (!command || (of && of != command)) continue;
    const CLI::Option* const option = OptionFor(*command, setting.key);
    if (!option || IsReplaced(*command, *option, argv)) continue;
    if (!of && LacksAnother(*option, argv, settings)) continue;
    // The command's table overrides the settings for all commands.
    const bool in_table = !of && std::ranges::any_of(settings, [&](const ConfigSetting& other) {
      return other.table == command->get_name() && other.key == setting.key;
    });
    if (in_table) continue;
    AD_ASSIGN_OR_RETURN(const auto more, ArgvFor(*option, setting));
    defaults.insert(defaults.end(), more.begin(), more.end());
  }
  return defaults;
}

}  // namespace autodist::cli
