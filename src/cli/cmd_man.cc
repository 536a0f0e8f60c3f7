// autodist man [COMMAND] [--folder FOLDER] [--markdown FOLDER]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>
#include "autodist/status.h"
#include "base/split.h"
#include "base/wall_clock.h"
#include "base/write_file.h"
#include "cli/command_tree.h"
#include "cli/commands.h"
#include "framework/frameworks.h"
#include "plan/framework_variables.h"

namespace autodist::cli {
namespace {

// Escapes text for roff; '.' and ''' at the start of a line would be requests.
std::string Roff(const std::string& text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string Bold(const std::string& text) { return "\\fB" + Roff(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Roff(text) + "\\fR"; }

std::string WithValue(const OptionEntry& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(Bold(name));
  const std::string value = option.value.kind == ValueKind::kNone
                                ? ""
                                : " " + Placeholder(option.value, Italic(option.value.name));
  return absl::StrJoin(names, ", ") + value;
}

std::string Synopsis(const CommandEntry& command) {
  std::string text = Bold("autodist" + (command.name.empty() ? "" : " " + command.name)) + " [" +
                     Italic("OPTIONS") + "]";
  for (const OptionEntry& word : command.positionals) {
    text += " " + Placeholder(word.value, Italic(word.value.name), word.repeated);
  }
  if (command.name.empty()) text += " " + Italic("COMMAND");
  if (command.takes_program)
    text += " " + Bold("--") + " " + Italic("PROGRAM") + " [" + Italic("ARGUMENTS") + "]";
  return text + "\n";
}

std::string Options(const CommandEntry& command) {
  std::string text;
  for (const OptionEntry& word : command.positionals) {
    text += ".TP\n" + Italic(word.value.name) + "\n" + Roff(word.text) + "\n";
  }
  for (const std::string& heading : GroupsOf(command)) {
    if (heading != "Options") text += ".SS " + heading + "\n";
    for (const OptionEntry& option : command.options) {
      if (option.group == heading)
        text += ".TP\n" + WithValue(option) + "\n" + Roff(option.text) + "\n";
    }
  }
  return text.empty() ? "" : ".SH OPTIONS\n" + text;
}

// Formats a description and footer: wraps paragraphs, leaves indented lines unchanged.
std::string Prose(const CommandEntry& command) {
  std::string text = ".SH DESCRIPTION\n" + Roff(command.text) + ".\n";
  bool paragraph = true;  // a paragraph has begun
  bool verbatim = false;
  for (const std::string_view line : base::Split(command.footer, '\n')) {
    const bool indented = line.starts_with(' ');
    if (verbatim && !indented) text += ".fi\n";
    if (line == "Examples:") {
      text += ".SH EXAMPLES\n";
      paragraph = true;
    } else if (line.empty()) {
      paragraph = false;
    } else if (indented) {
      if (!verbatim) text += ".nf\n";
      text += Roff(std::string(line.substr(2))) + "\n";
    } else {
      if (!paragraph) text += verbatim ? ".SH NOTES\n" : ".PP\n";
      text += Roff(std::string(line)) + "\n";
      paragraph = true;
    }
    verbatim = indented || (verbatim && line.empty());
  }
  return text + (verbatim ? ".fi\n" : "");
}

// "autodist-run".
std::string ManPageName(const CommandEntry* command) {
  return command ? "autodist-" + command->name : "autodist";
}

std::string SeeAlso(const CommandTree& tree, const CommandEntry* command) {
  std::vector<std::string> pages;
  if (command) pages.push_back(Bold("autodist") + "(1)");
  for (const CommandEntry& other : tree.commands) {
    if (&other != command) pages.push_back(Bold(ManPageName(&other)) + "(1)");
  }
  return ".SH SEE ALSO\n" + absl::StrJoin(pages, ",\n") + "\n";
}

// Manual pages, generated from the help texts. Returns autodist(1) if `command` is null, or else
// autodist-COMMAND(1), as man(7) source. `date`: "2026-11-23".
std::string ManPage(const CommandTree& tree, const CommandEntry* command, const std::string& date) {
  const CommandEntry& shown = command ? *command : tree.program;
  const std::string prose = Prose(shown);
  const size_t examples = std::min(prose.find(".SH EXAMPLES"), prose.size());
  std::string text = ".TH " + absl::AsciiStrToUpper(ManPageName(command)) + " 1 " + date +
                     " \"autodist " AUTODIST_VERSION "\"\n.SH NAME\n" + Roff(ManPageName(command)) +
                     " \\- " + Roff(shown.text) + "\n.SH SYNOPSIS\n" + Synopsis(shown) +
                     prose.substr(0, examples) + Options(shown);
  if (!command) {
    text += ".SH COMMANDS\n";
    for (const CommandEntry& each : tree.commands) {
      text += ".TP\n" + Bold(each.name) + "\n" + Roff(each.text) + "\n";
    }
  }
  return text + prose.substr(examples) + SeeAlso(tree, command);
}

// The generated pages of docs/reference: one for each command, and the variables of each framework.
struct ReferencePage {
  std::string path;  // below docs/reference: "commands/run.md"
  std::string text;  // Markdown
};

constexpr char kGenerated[] =
    "<!-- Generated by `autodist man --markdown docs/reference`; do not edit. -->\n";
constexpr size_t kMaxExample = 60;  // characters

// Escapes all Markdown markup.
std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"|", "\\|"}, {"<", "\\<"}, {"*", "\\*"}, {"_", "\\_"}, {"[", "\\["}});
}

// Escapes Markdown markup, except between backticks.
std::string Prose(const std::string& text) {
  std::string escaped;
  bool code = false;
  for (const std::string_view part : base::Split(text, '`')) {
    if (!escaped.empty() || code) escaped += '`';
    escaped += code ? std::string(part) : Escaped(std::string(part));
    code = !code;
  }
  return escaped;
}

std::string Code(const std::string& text) {
  return "`" + absl::StrReplaceAll(text, {{"|", "\\|"}}) + "`";
}

std::string NameCell(const OptionEntry& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    const bool takes_value = option.value.kind != ValueKind::kNone && name.starts_with("--");
    names.push_back(
        Code(takes_value ? name + " " + Placeholder(option.value, option.value.name) : name));
  }
  return absl::StrJoin(names, ", ");
}

std::string TableRow(const std::string& first, const std::string& second) {
  return "| " + first + " | " + second + " |\n";
}

std::string Usage(const CommandEntry& command) {
  std::string usage = "    autodist " + command.name + " [OPTIONS]";
  for (const OptionEntry& word : command.positionals) {
    usage += " " + Placeholder(word.value, word.value.name, word.repeated);
  }
  return usage + (command.takes_program ? " -- PROGRAM [ARGUMENTS]\n" : "\n");
}

std::string OptionTables(const CommandEntry& command) {
  std::string text;
  if (!command.positionals.empty())
    text += "\n## Arguments\n\n| argument | description |\n|---|---|\n";
  for (const OptionEntry& word : command.positionals) {
    text += TableRow(Code(word.value.name), Prose(word.text));
  }
  for (const std::string& group : GroupsOf(command)) {
    text += "\n## " + group + "\n\n| option | description |\n|---|---|\n";
    for (const OptionEntry& option : command.options) {
      if (option.group == group) text += TableRow(NameCell(option), Prose(option.text));
    }
  }
  return text;
}

// Formats the footer of a command's help: paragraphs, and indented lines as code.
std::string Footer(const std::string& footer) {
  std::string text;
  bool was_code = false;
  for (const std::string_view line : base::Split(footer, '\n')) {
    const bool code = line.starts_with("  ");
    if (code && !was_code && !text.ends_with("\n\n")) text += '\n';
    if (line == "Examples:") {
      text += "## Examples\n";
    } else {
      text += code ? "  " + std::string(line) + "\n" : Prose(std::string(line)) + "\n";
    }
    was_code = code;
  }
  return text;
}

ReferencePage CommandPage(const CommandEntry& command) {
  return {"commands/" + command.name + ".md",
          std::string(kGenerated) + "# autodist " + command.name + "\n\n" + command.text + ".\n\n" +
              Usage(command) + OptionTables(command) + Footer(command.footer)};
}

ReferencePage IndexPage(const CommandTree& tree) {
  std::string text = std::string(kGenerated) +
                     "# Commands\n\nEach page lists the options of a command, as `autodist COMMAND "
                     "--help all` prints them.\n\n| command | purpose |\n|---|---|\n";
  for (const CommandEntry& command : tree.commands) {
    text += TableRow("[" + command.name + "](commands/" + command.name + ".md)", command.text);
  }
  return {"commands.md", text};
}

std::string Shortened(const std::string& value) {
  if (value.size() <= kMaxExample) return value;
  return value.substr(0, value.rfind(',', kMaxExample)) + ",…";
}

Result<std::string> VariablesOf(const framework::Framework& framework, v1::ProgramKind kind) {
  AD_ASSIGN_OR_RETURN(const plan::Example example, plan::ExampleOf(framework, kind));
  std::string text =
      "\n### " + std::string(framework.name) + " " + framework::OptionOf(kind) + "\n\n";
  if (example.pmix) text += "Each node has a PMIx server: `MPI_Init` needs no variables.\n\n";
  for (const auto& [process, address] : example.auxiliary) {
    text += "One more process, " + process + ", runs on " + address + ".\n\n";
  }
  if (example.variables.empty()) return text + "No variables.\n";
  text += "| variable | example |\n|---|---|\n";
  for (const plan::ExampleVariable& variable : example.variables) {
    const std::string value = variable.value.empty() ? "" : Code(Shortened(variable.value));
    text += TableRow(Code(variable.name), value + (variable.on_chief ? " (only on node 0)" : ""));
  }
  return text;
}

Result<ReferencePage> EnvironmentPage() {
  std::string text =
      std::string(kGenerated) +
      "# Environment variables of each framework\n\n`--framework` chooses the variables "
      "that each process receives, in addition to the\n[variables of every "
      "rank](ranks.md). `autodist frameworks` prints this list.\n\nThe examples are from "
      "a job on two nodes with eight GPUs each. They show rank 9, the second rank of the\nsecond "
      "node; with `--per node`, the second node.\n";
  for (const framework::Framework* framework : framework::All()) {
    text += "\n## " + std::string(framework->name) + "\n\n" + framework->programs + ".\n";
    for (const v1::ProgramKind kind : framework->kinds) {
      AD_ASSIGN_OR_RETURN(const std::string variables, VariablesOf(*framework, kind));
      text += variables;
    }
  }
  return ReferencePage{"environment.md", text};
}

// Pure logic. Fails if a framework cannot make a plan for its example.
Result<std::vector<ReferencePage>> ReferencePages(const CommandTree& tree) {
  AD_ASSIGN_OR_RETURN(const ReferencePage environment, EnvironmentPage());
  std::vector<ReferencePage> pages = {IndexPage(tree), environment};
  for (const CommandEntry& command : tree.commands) pages.push_back(CommandPage(command));
  return pages;
}

struct ManOptions {
  std::string command;
  std::string folder;
  std::string markdown;
};

// Uses SOURCE_DATE_EPOCH if it is set, for reproducible builds.
std::string Today() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t now = epoch ? std::atoll(epoch) : std::time(nullptr);
  return base::UtcTime("%Y-%m-%d", now);
}

Status WritePages(const CommandTree& tree, const std::string& folder) {
  std::vector<const CommandEntry*> pages = {nullptr};
  for (const CommandEntry& command : tree.commands) pages.push_back(&command);
  for (const CommandEntry* page : pages) {
    AD_RETURN_IF_ERROR(base::WriteFile(folder + "/" + ManPageName(page) + ".1",
                                       ManPage(tree, page, Today()), base::IfExists::kReplace));
  }
  return OkStatus();
}

Status WriteReference(const CommandTree& tree, const std::string& folder) {
  AD_ASSIGN_OR_RETURN(const std::vector<ReferencePage> pages, ReferencePages(tree));
  for (const ReferencePage& page : pages) {
    AD_RETURN_IF_ERROR(
        base::WriteFile(folder + "/" + page.path, page.text, base::IfExists::kReplace));
  }
  return OkStatus();
}

int Man(const CLI::App& app, const ManOptions& options) {
  const CommandTree tree = TreeOf(app);
  if (!options.markdown.empty()) {
    const Status written = WriteReference(tree, options.markdown);
    return written.ok() ? 0 : Fail(written, kExitUsage);
  }
  if (!options.folder.empty()) {
    const Status written = WritePages(tree, options.folder);
    return written.ok() ? 0 : Fail(written, kExitUsage);
  }
  const auto command = std::ranges::find(tree.commands, options.command, &CommandEntry::name);
  if (!options.command.empty() && command == tree.commands.end()) {
    return Fail(WithRemedy(Error(StatusCode::kInvalidArgument,
                                 "there is no command '" + options.command + "'"),
                           "`autodist --help` lists the commands"),
                kExitUsage);
  }
  const bool found = command != tree.commands.end();
  std::fputs(ManPage(tree, found ? &*command : nullptr, Today()).c_str(), stdout);
  return 0;
}

}  // namespace

Command AddMan(CLI::App& app) {
  auto options = std::make_shared<ManOptions>();
  app.add_option("COMMAND", options->command, "The command; default: autodist itself");
  app.add_option("--folder", options->folder, "Write all pages to this folder")
      ->type_name("FOLDER");
  app.add_option("--markdown", options->markdown,
                 "Write the generated pages of docs/reference to this folder")
      ->type_name("FOLDER");
  app.group("");  // hidden: for packagers
  app.footer(R"(
Prints a manual page with the contents of the help, for packages and for man.

Examples:
  autodist man run | man -l -
  autodist man --folder share/man/man1)");
  return [options, &app] { return Man(*app.get_parent(), *options); };
}

}  // namespace autodist::cli
