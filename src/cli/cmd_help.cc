// autodist help TOPIC; `autodist help COMMAND` is read as `autodist COMMAND --help`.
#include "cli/commands.h"
#include "cli/help_topics.h"

namespace autodist::cli {

Command AddHelp(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("TOPIC", *name, "The topic")->required();
  return [name] {
    // Other names are read as commands (ReadCommandLine).
    const Status written = WriteOutput("", FindHelpTopic(*name)->text(), /*force=*/false);
    return written.ok() ? 0 : Fail(written, kExitCannotLaunch);
  };
}

}  // namespace autodist::cli
