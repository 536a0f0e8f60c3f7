#include "cli/common_options.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace autodist::cli {
namespace {

// Shown by the short help of `run`.
constexpr auto kCommon = std::to_array<std::string_view>(
    {"--help",         "--spec",    "--hosts", "--nproc-per-node", "--slurm",        "--per",
     "--framework",    "--workdir", "--env",   "--pass-env",       "--max-restarts", "--timeout",
     "--hang-timeout", "--name",    "--show",  "--log-dir",        "--detach",       "--web",
     "--dry-run",      "--sync",    "--fetch"});
// Shown by the short help of `submit`, in addition.
constexpr auto kCommonOfSubmit = std::to_array<std::string_view>(
    {"--nodes", "--gpus-per-node", "--ntasks-per-node", "--print", "--kubernetes", "--time",
     "--partition", "--account", "--sbatch", "--image", "--cpus", "--memory", "--volume",
     "--namespace"});

bool IsCommon(const CLI::App& command, const CLI::Option& option) {
  const std::string name = "--" + (option.get_lnames().empty() ? "" : option.get_lnames().front());
  return std::ranges::count(kCommon, name) > 0 ||
         (command.get_name() == "submit" && std::ranges::count(kCommonOfSubmit, name) > 0);
}

}  // namespace

void HideUncommonOptions(CLI::App& command) {
  if (command.get_name() != "run" && command.get_name() != "submit") return;
  size_t shown = 0;
  size_t hidden = 0;
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_group().empty()) continue;
    if (IsCommon(command, *option)) {
      ++shown;
      continue;
    }
    option->group("");
    ++hidden;
  }
  const std::string all = std::to_string(shown + hidden);
  command.footer("\n`autodist " + command.get_name() + " --help all` shows all " + all +
                 " options.\n" + command.get_footer());
}

}  // namespace autodist::cli
