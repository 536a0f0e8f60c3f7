#include "scripts/scripts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/shell_quote.h"

namespace autodist::scripts {
namespace {

TEST(ScriptsTest, AFileBecomesOneLine) {
  EXPECT_EQ(OneLine("# what it is\n\nif true; then\n  # why\n  echo '#';\nfi\n"),
            "if true; then echo '#'; fi");
}

TEST(ScriptsTest, AHereDocumentKeepsItsLines) {
  EXPECT_EQ(OneLine("a() {\n  cat << E\n  $l\n# no comment\nE\n};\nb\n"),
            "a() { cat << E\n  $l\n# no comment\nE\n}; b");
}

// A shell can parse each as one line, alone and after the others.
TEST(ScriptsTest, AllAreShellPrograms) {
  for (const auto& names :
       {std::initializer_list<std::string_view>{"start_agent", "own_folder", "install_program"},
        {"connect_back", "own_folder", "install_program"},
        {"own_folder", "clean"},
        {"own_folder", "clean_step"},
        {"own_folder", "run_on_node"},
        {"devices"},
        {"device_ips"},
        {"agent_is_there"},
        {"until_agent_ends"},
        {"in_made_container"}}) {
    const std::string command = "sh -n -c " + base::ShellQuote(Script(names));
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
}  // namespace autodist::scripts
