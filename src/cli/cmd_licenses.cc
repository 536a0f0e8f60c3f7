// autodist licenses
#include "cli/commands.h"
#include "cli/licenses.h"

namespace autodist::cli {

Command AddLicenses(CLI::App& app) {
  app.footer(R"(
Prints the licence of autodist, and the copyright notices and licences of all
components that are linked into it, into its agent and into `autodist bench`.)");
  return [] {
    const Status written =
        WriteOutput("", std::string(LicenseTexts().front().content), /*force=*/false);
    return written.ok() ? 0 : Fail(written, kExitCannotLaunch);
  };
}

}  // namespace autodist::cli
