#include "cli/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/split.h"

namespace autodist::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HelpTextTest, FitsTheGivenWidth) {
  CLI::App app("Does what it is for.", "autodist");
  app.formatter(std::make_shared<HelpText>(60));
  std::string value;
  app.add_option("--a-name-that-is-longer-than-its-column", value, "short")->type_name("FILE");
  app.add_option("--option", value, "words that do not all fit into one line, which are many")
      ->default_str("preset");
  app.footer(
      "\nA paragraph of words that do not all fit into one line\nand goes on here.\n\n  an "
      "example");
  EXPECT_EQ(app.help().substr(app.help().find("  --a-name")),
            "  --a-name-that-is-longer-than-its-column FILE\n"
            "                            short\n"
            "  --option TEXT             words that do not all fit into\n"
            "                            one line, which are many\n"
            "                            [preset]\n"
            "\n"
            "A paragraph of words that do not all fit into one line and\n"
            "goes on here.\n"
            "\n"
            "  an example\n");
}

TEST(HelpTextTest, TheProgramIsInTheUsage) {
  CLI::App app("", "autodist");
  app.formatter(std::make_shared<HelpText>(80));
  app.prefix_command();
  EXPECT_THAT(app.help(), HasSubstr("autodist [OPTIONS] -- PROGRAM [ARGUMENTS]\n"));
}

TEST(HelpTextTest, TheShortHelpLeavesOutUncommonOptions) {
  CLI::App run("", "run");
  std::string value;
  run.add_option("--spec", value, "")->group("Nodes");
  CLI::Option* const rare = run.add_option("--fan-out", value, "")->group("Advanced");
  HideUncommonOptions(run);
  EXPECT_THAT(run.help(), HasSubstr("--spec"));
  EXPECT_THAT(run.help(), Not(HasSubstr("--fan-out")));
  EXPECT_THAT(run.help(), HasSubstr("`autodist run --help all` shows all 3 options."));
  EXPECT_EQ(rare->get_group(), "");
}

TEST(HelpTextTest, TopicsFitIntoATerminal) {
  for (const HelpTopic& topic : HelpTopics()) {
    const std::string text = topic.text();
    for (const std::string_view line : base::Split(text, '\n')) {
      EXPECT_LE(line.size(), 80) << topic.name << ": " << line;
    }
    EXPECT_THAT(text, Not(HasSubstr("]("))) << "a link of Markdown";
  }
}

}  // namespace
}  // namespace autodist::cli
