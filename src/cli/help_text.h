// What --help prints, as wide as the terminal is.
#pragma once

#include <string>

#include "cli/app.h"

namespace autodist::cli {

// Of the options of a command.
namespace group {
inline constexpr char kOptions[] = "Options";  // those without a heading of their own
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
}  // namespace group

class HelpText final : public CLI::Formatter {
 public:
  explicit HelpText(size_t width) : width_(width) {}

 protected:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* app) const override;

 private:
  std::string Entry(const std::string& name, const std::string& text) const;

  const size_t width_;  // characters
};

// What stands for the value of an option; "" for a flag.
std::string ValueName(const CLI::Option& option);
// What the help says of it.
std::string HelpOf(const CLI::Option& option);

// Of the terminal at stdout; 100 where there is none.
size_t TerminalWidth();

}  // namespace autodist::cli
