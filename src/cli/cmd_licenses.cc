// autodist licenses
#include <span>

#include "base/embedded_file.h"
#include "cli/commands.h"

namespace autodist::cli {

// The licences of all components that are linked into the programs, from setup/licenses.py. One
// file, "licenses.txt".
std::span<const base::EmbeddedFile> LicenseTexts();

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
