#include "cli/config_defaults.h"

#include <algorithm>

#include "base/did_you_mean.h"
#include "cli/old_names.h"

namespace autodist::cli {
namespace {

// Options that select the nodes.
constexpr const char* kNodes[] = {"--spec", "--hosts", "--slurm", "--kubernetes",
                                  "--nproc-per-node"};

Status WrongLine(const ConfigSetting& setting, const std::string& what, const std::string& remedy) {
  const Status error =
      Error(StatusCode::kInvalidArgument, "line " + std::to_string(setting.line) + ": " + what);
  return remedy.empty() ? error : WithRemedy(error, remedy);
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
  return option && option->nonpositional() && !option->get_group().empty() ? option : nullptr;
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
    argv.push_back(name + "=" + CurrentValue(name, value));
  }
  return argv;
}

ConfigSetting WithCurrentNames(ConfigSetting setting) {
  setting.table = CurrentName(setting.table);
  setting.key = CurrentName("--" + setting.key).substr(2);
  return setting;
}

}  // namespace

Result<std::vector<std::string>> DefaultArgv(const CLI::App& app,
                                             const std::vector<std::string>& argv,
                                             std::vector<ConfigSetting> settings) {
  std::ranges::transform(settings, settings.begin(), WithCurrentNames);
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
