#include "cli/fetch_options.h"

#include "cli/values.h"
#include "files/file_patterns.h"

namespace autodist::cli {

CLI::Validator FilePattern() {
  return {[](const std::string& text) -> std::string {
            const auto patterns = files::FilePatterns::Parse({text});
            if (patterns.ok()) return "";
            return Message(patterns.status()) + ": " + Remedy(patterns.status());
          },
          "PATTERN"};
}

void AddMaxSize(CLI::App& app, uint64_t& bytes, const std::string& whose,
                const std::string& group) {
  CLI::Option* const option =
      app.add_option("--max-size", bytes, whose + " may have so many bytes: 500M, 50G")
          ->transform(Size())
          ->default_str("10G");
  if (!group.empty()) option->group(group);
}

}  // namespace autodist::cli
