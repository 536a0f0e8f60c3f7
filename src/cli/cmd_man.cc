// autodist man [COMMAND] [--folder FOLDER] [--markdown FOLDER]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "base/wall_clock.h"
#include "base/write_file.h"
#include "cli/commands.h"
#include "cli/man_page.h"
#include "cli/reference_pages.h"

namespace autodist::cli {
namespace {

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
