#include "cli/config_defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ConfigTextTest, TablesAndValues) {
  const auto settings = ParseConfig(R"(# mine
interval = 2

[run]
grace = "2m"   # to save
sync = true
max_restarts = 3
env = ["A=1", 'B="2"',   # two
       "C\t\\",
]
[top]
sort = 'silent'
)");
  ASSERT_TRUE(settings.ok()) << settings.status();
  std::vector<std::string> said;
  for (const ConfigSetting& one : *settings) {
    std::string line = std::to_string(one.line) + " [" + one.table + "] " + one.key;
    for (const std::string& value : one.values) line += " <" + value + ">";
    said.push_back(line);
  }
  EXPECT_THAT(said, ElementsAre("2 [] interval <2>", "5 [run] grace <2m>", "6 [run] sync <true>",
                                "7 [run] max-restarts <3>", "8 [run] env <A=1> <B=\"2\"> <C\t\\>",
                                "12 [top] sort <silent>"));
  EXPECT_THAT(*ParseConfig(""), IsEmpty());
  EXPECT_THAT(*ParseConfig("\n # only\r\n"), IsEmpty());
}

TEST(ConfigTextTest, AnErrorIsQuotedWithItsLine) {
  for (const auto& [text, why] :
       {std::pair{"grace = 2m",
                  "line 1: '2m' is not a number, true or false; put text in quotes: \"2m\""},
        {"\ngrace", "line 2: 'grace' is not KEY = VALUE, such as grace = \"2m\""},
        {"grace =", "line 1: a value is missing"},
        {"grace = \"2m", "line 1: the text is not closed by \""},
        {"[run", "line 1: '[run' is not a table; tables are commands, such as [run]"},
        {"[run.more]", "line 1: '[run.more]' is not a table"},
        {"[[run]]", "line 1: '[[run]]' is not a table"},
        {"a.b = 1",
         "line 1: 'a.b = 1': a key with a dot is not supported; write the key below a line with "
         "its table, such as [run]"},
        {"a = 1 2", "line 1: '2' follows the value"},
        {"a = [1, 2", "line 1: the list is not closed by ']'"},
        {"a = [1 2]", "line 1: the list is not closed by ']'"},
        {"a = {b = 1}", "line 1: '{b' is not a number"},
        {"a = \"\"\"x\"\"\"", "line 1: text of several lines is not supported"},
        {"a = \"\\x\"", "line 1: '\\x' is not supported in a text"},
        {"[run]\na = 1\n[top]\na = 1\n[run]\na = 2", "line 6: 'a' is already set in line 2"}}) {
    const auto settings = ParseConfig(text);
    ASSERT_FALSE(settings.ok()) << text;
    EXPECT_THAT(Message(settings.status()), HasSubstr(why)) << text;
  }
}

class DefaultArgvTest : public testing::Test {
 protected:
  DefaultArgvTest() {
    CLI::App* run = app_.add_subcommand("run");
    run->add_option("--spec", text_);
    run->add_option("--hosts", text_);
    run->add_option("-n,--nproc-per-node", text_);
    run->add_option("--grace", text_);
    run->add_option("--env", list_)->allow_extra_args(false);
    run->add_option("--web", text_)->expected(0, 1);
    run->add_flag("--sync", flag_);
    run->add_option("--sync-topology", text_);
    CLI::App* logs = app_.add_subcommand("logs");
    auto* rank = logs->add_option("--rank", list_);
    logs->add_option("--show", text_)->excludes(rank);
    logs->add_flag("-f,--follow", flag_);
    auto* chief = logs->add_option("--chief-on", text_);
    logs->add_option("--spec", text_)->needs(chief);
  }

  std::vector<std::string> Argv(const std::vector<std::string>& typed, const std::string& text) {
    const auto words = DefaultArgv(app_, typed, *ParseConfig(text));
    EXPECT_TRUE(words.ok()) << words.status();
    return words.ok() ? *words : std::vector<std::string>();
  }
  std::string Why(const std::string& text) {
    const auto words = DefaultArgv(app_, {"run"}, *ParseConfig(text));
    return words.ok() ? "" : Message(words.status()) + " | " + Remedy(words.status());
  }

  CLI::App app_;
  std::string text_;
  std::vector<std::string> list_;
  bool flag_ = false;
};

TEST_F(DefaultArgvTest, UsesTheTableOfTheCommandAndTheCommonOne) {
  constexpr char kText[] =
      "grace = 9\nshow = \"0\"\n[run]\ngrace = \"2m\"\nsync = true\n[logs]\nfollow = true";
  EXPECT_THAT(Argv({"run"}, kText), ElementsAre("--grace=2m", "--sync"));
  EXPECT_THAT(Argv({"logs", "last"}, kText), ElementsAre("--show=0", "--follow"));
  EXPECT_THAT(Argv({"ps"}, kText), IsEmpty());
}

TEST_F(DefaultArgvTest, ACommonDefaultAppliesOnlyWithTheOptionThatItNeeds) {
  EXPECT_THAT(Argv({"run"}, "spec = \"a.yaml\""), ElementsAre("--spec=a.yaml"));
  EXPECT_THAT(Argv({"logs"}, "spec = \"a.yaml\""), IsEmpty());
  EXPECT_THAT(Argv({"logs", "--chief-on", "first"}, "spec = \"a.yaml\""),
              ElementsAre("--spec=a.yaml"));
  EXPECT_THAT(Argv({"logs"}, "spec = \"a.yaml\"\nchief-on = \"first\""),
              ElementsAre("--spec=a.yaml", "--chief-on=first"));
}

TEST_F(DefaultArgvTest, Values) {
  EXPECT_THAT(Argv({"run"}, "[run]\nenv = [\"A=1\", \"B=2\"]"),
              ElementsAre("--env=A=1", "--env=B=2"));
  EXPECT_THAT(Argv({"run"}, "[run]\nsync = false"), IsEmpty());
  EXPECT_THAT(Argv({"run"}, "[run]\nweb = true"), ElementsAre("--web"));
  EXPECT_THAT(Argv({"run"}, "[run]\nweb = \"127.0.0.1:1\""), ElementsAre("--web=127.0.0.1:1"));
}

TEST_F(DefaultArgvTest, TheCommandLineHasPriority) {
  constexpr char kText[] = "[run]\ngrace = \"2m\"\nspec = \"c.yaml\"\n[logs]\nshow = \"0\"";
  EXPECT_THAT(Argv({"run", "--grace", "3"}, kText), ElementsAre("--spec=c.yaml"));
  EXPECT_THAT(Argv({"run", "--grace=3"}, kText), ElementsAre("--spec=c.yaml"));
  EXPECT_THAT(Argv({"run", "--hosts", "a"}, kText), ElementsAre("--grace=2m"));
  EXPECT_THAT(Argv({"run", "-n4"}, kText), ElementsAre("--grace=2m"));
  EXPECT_THAT(Argv({"logs", "--rank", "1"}, kText), IsEmpty());
}

TEST_F(DefaultArgvTest, AnUnknownOptionIsNamed) {
  EXPECT_EQ(Why("\n[run]\ngrcae = 3"), "line 3: run has no option 'grcae' | did you mean grace?");
  EXPECT_EQ(Why("[rum]\ngrace = 3"),
            "line 2: there is no command 'rum' | `autodist --help` lists the commands");
  EXPECT_THAT(Why("zzz = 3"), HasSubstr("line 1: no command has an option 'zzz'"));
  EXPECT_THAT(Why("[run]\nhelp = true"), HasSubstr("run has no option 'help'"));
  EXPECT_THAT(Why("[run]\nsync = 3"), HasSubstr("line 2: --sync takes no value"));
  EXPECT_THAT(Why("[run]\ngrace = true"), HasSubstr("--grace takes a value"));
  EXPECT_THAT(Why("[run]\ngrace = [1, 2]"), HasSubstr("--grace takes one value"));
  EXPECT_THAT(Why("[run]\nspec = \"\""), HasSubstr("line 2: --spec: the value is empty"));
}

}  // namespace
}  // namespace autodist::cli
