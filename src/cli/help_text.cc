#include "cli/help_text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "base/split.h"

namespace autodist::cli {
namespace {

constexpr size_t kIndent = 2;
constexpr size_t kNameColumn = 26;  // for names and the space after them
constexpr size_t kCommandColumn = 13;
constexpr size_t kMinWidth = 60;
constexpr size_t kMaxWidth = 120;
constexpr size_t kWithoutTerminal = 80;

// Wraps the text at spaces to lines of `width` characters; longer words get a longer line.
std::string Wrapped(std::string_view text, size_t width, const std::string& line_break) {
  std::string lines;
  size_t column = 0;
  for (const std::string_view word : base::Split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      lines += line_break;
      column = 0;
    } else if (!lines.empty()) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines;
}

}  // namespace

// Returns "NAME" of "TEXT:NAME": a validator's name is more specific than the type's.
std::string ValueName(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string type = option.get_type_name();
  const std::string value = type.substr(type.rfind(':') + 1);
  return value.empty() ? "TEXT" : value;
}

std::string HelpOf(const CLI::Option& option) {
  const std::string& preset = option.get_default_str();
  return option.get_description() + (preset.empty() ? "" : " [" + preset + "]");
}

size_t TerminalWidth() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWithoutTerminal;
  return std::clamp<size_t>(size.ws_col, kMinWidth, kMaxWidth);
}

std::string HelpEntry(const std::string& name, const std::string& text, size_t column,
                      size_t width) {
  std::string lines = std::string(kIndent, ' ') + name;
  const std::string margin(kIndent + column, ' ');
  if (lines.size() < margin.size()) {
    lines.resize(margin.size(), ' ');
  } else {
    lines += "\n" + margin;
  }
  return lines + Wrapped(text, width - margin.size(), "\n" + margin) + "\n";
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  std::string value = is_positional ? "" : ValueName(*option);
  if (!value.empty() && option->get_items_expected_min() == 0) value = "[" + value + "]";
  return HelpEntry(make_option_name(option, is_positional) + (value.empty() ? "" : " " + value),
                   HelpOf(*option), kNameColumn, width_);
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  return HelpEntry(command->get_name(), command->get_description(), kCommandColumn, width_);
}

// Wraps paragraphs; leaves indented lines unchanged.
std::string HelpText::make_footer(const CLI::App* app) const {
  std::string lines;
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) lines += Wrapped(paragraph, width_, "\n") + "\n";
    paragraph.clear();
  };
  const std::string text = app->get_footer();
  for (const std::string_view line : base::Split(text, '\n')) {
    if (!line.empty() && line.front() != ' ') {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
      continue;
    }
    end_paragraph();
    if (!lines.empty() || !line.empty()) lines.append(line) += '\n';
  }
  end_paragraph();
  return lines;
}

std::string HelpText::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = Formatter::make_option_name(option, is_positional);
  if (const size_t comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
  return name;
}

std::string HelpText::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = Formatter::make_usage(app, std::move(name));
  if (app->get_prefix_command()) usage.insert(usage.size() - 1, " -- PROGRAM [ARGUMENTS]");
  return usage;
}

}  // namespace autodist::cli
