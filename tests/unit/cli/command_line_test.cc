#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    app_.set_version_flag("--version", "1");
    CLI::App* run = app_.add_subcommand("run");
    run->prefix_command();
    run->add_option("--spec", text_);
    run->add_option("--lease", text_);
    run->add_option("-n,--nproc-per-node", text_);
    run->add_option("--hosts", text_);
    run->add_option("--env", text_);
    run->add_option("--pass-env", text_);
    run->add_flag("--sync", flag_);
    run->add_option("--framework", text_);
    run->add_option("--sync-topology", text_);
    CLI::App* logs = app_.add_subcommand("logs");
    logs->add_option("JOB", text_)->required();
    logs->add_flag("--follow", flag_);
    CLI::App* init = app_.add_subcommand("init");
    init->add_option("--ssh-config", text_)->expected(0, 1);
    init->add_flag("--slurm", flag_);
  }

  CommandLine Read(const std::vector<std::string>& words) {
    const auto line = ReadCommandLine(app_, words);
    EXPECT_TRUE(line.ok()) << line.status();
    return line.ok() ? *line : CommandLine();
  }
  // The error and hint for these arguments.
  std::string Refusal(const std::vector<std::string>& words) {
    const auto line = ReadCommandLine(app_, words);
    EXPECT_FALSE(line.ok());
    return Message(line.status()) + " | " + Remedy(line.status());
  }
  // The same for arguments that are parsed one by one.
  std::string WhyParsed(std::vector<std::string> words) {
    std::ranges::reverse(words);
    try {
      app_.parse(words);
    } catch (const CLI::ParseError& error) {
      return Message(WhyRefused(app_, error));
    }
    return "";
  }

  CLI::App app_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(CommandLineTest, TheProgramFollowsDashes) {
  const CommandLine line = Read({"run", "--spec", "a", "--", "./train", "--spec", "--", "b"});
  EXPECT_THAT(line.argv, ElementsAre("run", "--spec", "a"));
  EXPECT_THAT(line.program, ElementsAre("./train", "--spec", "--", "b"));
}

TEST_F(CommandLineTest, TheProgramBeginsAtTheFirstArgumentThatIsNoOption) {
  const CommandLine line =
      Read({"run", "--spec", "a", "--lease=4", "-n4", "--sync", "python", "train.py", "--lease"});
  EXPECT_THAT(line.argv, ElementsAre("run", "--spec", "a", "--lease=4", "-n4", "--sync"));
  EXPECT_THAT(line.program, ElementsAre("python", "train.py", "--lease"));
}

TEST_F(CommandLineTest, OtherCommandsHaveTheirOwnOptions) {
  const CommandLine line = Read({"logs", "last", "--follow"});
  EXPECT_THAT(line.argv, ElementsAre("logs", "last", "--follow"));
  EXPECT_THAT(line.program, IsEmpty());
  EXPECT_THAT(Read({"init", "--ssh-config", "--slurm"}).argv,
              ElementsAre("init", "--ssh-config", "--slurm"));
}

TEST_F(CommandLineTest, HelpHasSeveralSpellings) {
  EXPECT_THAT(Read({}).argv, ElementsAre("--help"));
  EXPECT_THAT(Read({"help"}).argv, ElementsAre("--help"));
  EXPECT_THAT(Read({"help", "run"}).argv, ElementsAre("run", "--help"));
  EXPECT_THAT(Read({"help", "exit-codes"}).argv, ElementsAre("help", "exit-codes"));
  EXPECT_THAT(Read({"run", "--help", "all"}).argv, ElementsAre("run", "--help"));
  EXPECT_TRUE(Read({"run", "--help", "all"}).help_all);
  EXPECT_FALSE(Read({"run", "--help"}).help_all);
  EXPECT_THAT(Read({"run", "--help"}).argv, ElementsAre("run", "--help"));
}

TEST_F(CommandLineTest, TheNearestCommandIsNamed) {
  EXPECT_THAT(Refusal({"rnu", "--", "x"}), HasSubstr("did you mean `autodist run`?"));
  EXPECT_THAT(Refusal({"help", "log"}), HasSubstr("did you mean `autodist logs`?"));
  EXPECT_THAT(Refusal({"./train"}), HasSubstr("autodist run -- ./train"));
  EXPECT_THAT(Refusal({"--", "./train"}), HasSubstr("autodist run -- "));
}

TEST_F(CommandLineTest, CommandsOfOtherProgramsAreTranslated) {
  for (const auto& [word, ours] : {std::pair{"list", "`autodist ps`"},
                                   {"squeue", "`autodist ps`"},
                                   {"kill", "`autodist stop`"},
                                   {"scancel", "`autodist stop`"},
                                   {"rm", "`autodist prune`"},
                                   {"torchrun", "`autodist run -- PROGRAM`"},
                                   {"dashboard", "`autodist web`"}}) {
    EXPECT_THAT(Refusal({word}), HasSubstr("there is no command '" + std::string(word) + "' | "));
    EXPECT_THAT(Refusal({word}), HasSubstr(ours)) << word;
  }
  EXPECT_THAT(Read({"version"}).argv, ElementsAre("--version"));
}

TEST_F(CommandLineTest, TheNearestOptionIsNamed) {
  EXPECT_THAT(Refusal({"run", "--lese", "4", "x"}), HasSubstr("did you mean --lease?"));
  EXPECT_THAT(Refusal({"run", "--lese=4", "x"}), HasSubstr("no option '--lese' |"));
  EXPECT_THAT(Refusal({"logs", "last", "--spec", "a"}), HasSubstr("it belongs to `autodist run`"));
  EXPECT_THAT(Refusal({"--spec", "a", "run"}), HasSubstr("`autodist run --spec`"));
  EXPECT_THAT(Refusal({"run", "--zzzzzzzzz", "x"}), HasSubstr("follow the program"));
}

TEST_F(CommandLineTest, OptionsOfOtherLaunchersAreTranslated) {
  EXPECT_THAT(Refusal({"run", "-np", "4", "x"}), HasSubstr("mpirun's; write `autodist run -n 4`"));
  EXPECT_THAT(Refusal({"run", "-np4", "x"}), HasSubstr("has no option '-np4'"));
  EXPECT_THAT(Refusal({"run", "--np=4", "x"}), HasSubstr("`autodist run -n 4`"));
  EXPECT_THAT(Refusal({"-np", "4", "x"}), HasSubstr("`autodist run -n 4`"));
  EXPECT_THAT(Refusal({"run", "-N4", "x"}), HasSubstr("srun's; write `autodist run --hosts"));
  EXPECT_THAT(Refusal({"run", "--nproc_per_node", "4", "x"}),
              HasSubstr("write `autodist run --nproc-per-node 4`"));
  EXPECT_THAT(Refusal({"run", "--nproc_per_node=4", "x"}),
              HasSubstr("write `autodist run --nproc-per-node=4`"));
  EXPECT_THAT(Refusal({"run", "-x", "A=1", "x"}), HasSubstr("`autodist run --env A=1`"));
  EXPECT_THAT(Refusal({"run", "-x", "A", "x"}), HasSubstr("`autodist run --pass-env A`"));
  EXPECT_THAT(Refusal({"run", "--rdzv_id", "4", "x"}), HasSubstr("torchrun's; leave it out: "));
}

TEST_F(CommandLineTest, SeveralOptionsOfOtherLaunchersAreTranslatedAtOnce) {
  EXPECT_EQ(Refusal({"run", "-n", "2", "-m", "hello"}),
            "run has no option '-m' | it is torchrun's; write `autodist run -n 2 -- python3 -m "
            "hello`");
  const std::string several = Refusal({"run", "--nproc_per_node", "2", "--lease", "5", "--rdzv_id",
                                       "7", "--standalone", "train.py", "--np"});
  EXPECT_THAT(several, HasSubstr("no options '--nproc_per_node', '--rdzv_id' or '--standalone'"));
  EXPECT_THAT(several, HasSubstr("\n      --rdzv_id: it is torchrun's; leave it out"));
  EXPECT_THAT(Refusal({"run", "-np", "4", "--bind-to", "none", "x"}),
              HasSubstr("'-np' or '--bind-to'"));
  const std::string nodes = Refusal({"run", "--nproc_per_node=2", "--nnodes=3", "x"});
  EXPECT_THAT(nodes, HasSubstr("--nproc_per_node: leave it out; --hosts HOST1:N,HOST2:N gives"));
  EXPECT_THAT(nodes, HasSubstr("--nnodes: it is torchrun's; write `autodist run --hosts HOST1:N"));
  EXPECT_THAT(Refusal({"run", "-np", "4", "--zzzzzzzzz", "x"}), HasSubstr("no option '-np' |"));
}

TEST_F(CommandLineTest, AnInvalidValueIsNotRepeated) {
  EXPECT_THAT(Refusal({"run", "-np", "all", "x"}), HasSubstr("`autodist run -n N`"));
  EXPECT_THAT(Refusal({"run", "-H", "--np"}), HasSubstr("`autodist run --hosts HOST,...`"));
}

TEST_F(CommandLineTest, CommandsThatStartNothingDoNotTranslateLauncherOptions) {
  EXPECT_THAT(Refusal({"logs", "last", "-N", "4"}), testing::Not(HasSubstr("srun")));
}

TEST_F(CommandLineTest, AnArgumentBeforeDashesIsNoProgram) {
  EXPECT_THAT(Refusal({"run", "cluster.yaml", "--", "x"}), HasSubstr("--spec cluster.yaml"));
  EXPECT_THAT(Refusal({"run", "x", "--", "y"}), HasSubstr("'x' is not an option"));
  EXPECT_THAT(Refusal({"run", "--hosts", "h1,", "h2", "--", "y"}),
              HasSubstr("write the list without spaces: h1,h2"));
}

TEST_F(CommandLineTest, MissingAndExtraArgumentsAreNamed) {
  EXPECT_EQ(WhyParsed({"logs"}), "logs: JOB is missing");
  EXPECT_EQ(WhyParsed({"logs", "a", "b"}), "logs: unexpected argument: 'b'; give one job");
  EXPECT_EQ(WhyParsed({"run", "--spec"}), "run: --spec needs a value");
}

}  // namespace
}  // namespace autodist::cli
