#include "cli/man_page.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_join.h>
#include <absl/strings/str_replace.h>

#include <algorithm>

#include "base/split.h"

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

std::string SeeAlso(const CommandTree& tree, const CommandEntry* command) {
  std::vector<std::string> pages;
  if (command) pages.push_back(Bold("autodist") + "(1)");
  for (const CommandEntry& other : tree.commands) {
    if (&other != command) pages.push_back(Bold(ManPageName(&other)) + "(1)");
  }
  return ".SH SEE ALSO\n" + absl::StrJoin(pages, ",\n") + "\n";
}

}  // namespace

std::string ManPageName(const CommandEntry* command) {
  return command ? "autodist-" + command->name : "autodist";
}

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

}  // namespace autodist::cli
