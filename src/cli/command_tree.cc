#include "cli/command_tree.h"

#include <absl/strings/str_split.h>

#include <algorithm>

#include "cli/help_text.h"
#include "framework/frameworks.h"

namespace autodist::cli {
namespace {

// Derives the kind of value from the type name, which the validator or the option has set.
ValueKind ValueOf(const CLI::Option& option) {
  ValueKind value;
  value.name = option.nonpositional() ? ValueName(option) : option.get_name(true);
  value.optional =
      option.nonpositional() ? option.get_items_expected_min() == 0 : !option.get_required();
  value.list = option.get_delimiter() != '\0';
  if (option.get_items_expected_max() == 0) return value;
  const std::string checked = ValueName(option);
  value.kind = ValueKind::kAny;
  if (checked.find('|') != std::string::npos) {
    value.kind = ValueKind::kChoice;
    value.choices = absl::StrSplit(checked, '|');
  }
  if (value.name == "FRAMEWORK" || value.name == "FRAMEWORKS") {
    value.kind = ValueKind::kFramework;
    for (const framework::Framework* framework : framework::All())
      value.choices.push_back(framework->name);
  }
  for (const auto& [name, kind] : {std::pair{"FILE", ValueKind::kFile},
                                   {"FOLDER", ValueKind::kFolder},
                                   {"JOB", ValueKind::kJob},
                                   {"COMMAND", ValueKind::kCommand},
                                   {"VARIABLE", ValueKind::kVariable}}) {
    if (value.name == name) value.kind = kind;
  }
  return value;
}

OptionEntry EntryOf(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (!option.nonpositional()) entry.names.push_back(option.get_name(true));
  entry.text = HelpOf(option);
  entry.group = option.get_group();
  entry.repeated = option.get_items_expected_max() > 1;
  entry.value = ValueOf(option);
  return entry;
}

CommandEntry EntryOf(const CLI::App& app, const std::string& name) {
  CommandEntry entry;
  entry.name = name;
  entry.text = app.get_description();
  entry.footer = app.get_footer();
  entry.takes_program = app.get_prefix_command();
  for (const CLI::Option* option : app.get_options()) {
    if (!IsListed(*option)) continue;
    (option->nonpositional() ? entry.options : entry.positionals).push_back(EntryOf(*option));
  }
  return entry;
}

}  // namespace

std::string Placeholder(const ValueKind& value, const std::string& name, bool repeated) {
  const std::string shown = name + (repeated ? "..." : "");
  return value.optional ? "[" + shown + "]" : shown;
}

CommandTree TreeOf(const CLI::App& app) {
  CommandTree tree{EntryOf(app, ""), {}};
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) {
      tree.commands.push_back(EntryOf(*command, command->get_name()));
    }
  }
  return tree;
}

std::vector<std::string> GroupsOf(const CommandEntry& command) {
  std::vector<std::string> groups;
  for (const OptionEntry& option : command.options) {
    if (std::ranges::count(groups, option.group) == 0) groups.push_back(option.group);
  }
  return groups;
}

}  // namespace autodist::cli
