// autodist help TOPIC; `autodist help COMMAND` is read as `autodist COMMAND --help`.
#include <cstdio>

#include "cli/commands.h"
#include "cli/help_topics.h"

namespace autodist::cli {

Command AddHelp(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("TOPIC", *name, "The topic")->required();
  return [name] {
    const HelpTopic* const topic = FindHelpTopic(*name);
    return WriteOutput("", topic ? topic->text : "", /*force=*/false).ok() ? 0 : kExitCannotLaunch;
  };
}

}  // namespace autodist::cli
