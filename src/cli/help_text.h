// The texts of `--help` and of `autodist help TOPIC`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/app.h"

namespace autodist::cli {

// Headings for the options of a command.
namespace group {
inline constexpr char kOptions[] = "Options";  // options without a more specific heading
inline constexpr char kNodes[] = "Nodes";
inline constexpr char kResources[] = "Resources";
inline constexpr char kSlurm[] = "Slurm";
inline constexpr char kKubernetes[] = "Kubernetes";
inline constexpr char kProgram[] = "Program";
inline constexpr char kEnvironment[] = "Environment";
inline constexpr char kFailure[] = "Failure";
inline constexpr char kOutput[] = "Output";
inline constexpr char kFiles[] = "Files";
inline constexpr char kAdvanced[] = "Advanced";
// Accepted but not listed. Unlike an option of the group "", one of these has a name in errors.
inline constexpr char kUnlisted[] = "Unlisted";
}  // namespace group

inline bool IsListed(const CLI::Option& option) {
  return !option.get_group().empty() && option.get_group() != group::kUnlisted;
}

// Formats the output of --help for the width of the terminal.
class HelpText final : public CLI::Formatter {
 public:
  explicit HelpText(size_t width) : width_(width) {}

 protected:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_group(std::string name, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  const size_t width_;  // characters
};

// Returns the placeholder for an option's value; "" for a flag.
std::string ValueName(const CLI::Option& option);
// Returns the option's description and default.
std::string HelpOf(const CLI::Option& option);

// Formats a name in its column and, beside it, a text that is wrapped at `width` characters.
std::string HelpEntry(const std::string& name, const std::string& text, size_t column,
                      size_t width);

// Returns the width of the terminal at stdout; 80 if stdout is not a terminal.
size_t TerminalWidth();

// A text of `autodist help TOPIC`, for a topic that concerns several commands.
struct HelpTopic {
  std::string name;       // "exit-codes"
  std::string summary;    // a line for the list of topics
  std::string (*text)();  // paragraphs and tables, at most 80 characters wide
};

// All topics in the order of the list.
const std::vector<HelpTopic>& HelpTopics();

// Null if the topic does not exist.
const HelpTopic* FindHelpTopic(std::string_view name);

// The short help of commands with many options. Hides all but the common options of `run` and
// `submit` from their help, and adds a line that names `--help all`. Leaves other commands as they
// are.
void HideUncommonOptions(CLI::App& command);

}  // namespace autodist::cli
