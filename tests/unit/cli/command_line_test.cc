#include "cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <tuple>

#include "cli/other_launchers.h"
#include "support/scoped_variable.h"
#include "support/temp_folder.h"

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
    run->add_option("--fetch", text_);
    run->add_option("--pass-env", text_);
    run->add_flag("--sync", flag_);
    run->add_option("--framework", text_);
    run->add_option("--sync-topology", text_);
    CLI::App* submit = app_.add_subcommand("submit");
    submit->prefix_command();
    for (const char* option : {"--nodes", "--partition", "--name", "--pass-env", "--sbatch"}) {
      submit->add_option(option, text_);
    }
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

TEST_F(CommandLineTest, AValueThatFollowsALetterIsNotFollowedByAnother) {
  const CommandLine line = Read({"run", "-n4", "./train", "x"});
  EXPECT_THAT(line.argv, ElementsAre("run", "-n4"));
  EXPECT_THAT(line.program, ElementsAre("./train", "x"));
}

TEST_F(CommandLineTest, AnEmptyValueIsRefused) {
  for (const auto& [words, option] : {std::pair<std::vector<std::string>, std::string>{
                                          {"run", "--spec", "", "--", "x"}, "run: --spec"},
                                      {{"run", "--spec=", "--sync", "x"}, "run: --spec"},
                                      {{"run", "--pass_env", "", "x"}, "run: --pass-env"},
                                      {{"run", "-n", "", "x"}, "run: -n"},
                                      {{"submit", "--name", "", "--", "x"}, "submit: --name"},
                                      {{"init", "--ssh-config", ""}, "init: --ssh-config"}}) {
    EXPECT_EQ(Refusal(words),
              option + ": the value is empty | give it a value, or leave the option out");
  }
  EXPECT_THAT(Read({"run", "--env", "A=", "--env=A=", "--sync", "x", ""}).argv,
              ElementsAre("run", "--env", "A=", "--env=A=", "--sync"));
}

TEST_F(CommandLineTest, OtherCommandsHaveTheirOwnOptions) {
  const CommandLine line = Read({"logs", "last", "--follow"});
  EXPECT_THAT(line.argv, ElementsAre("logs", "last", "--follow"));
  EXPECT_THAT(line.program, IsEmpty());
  EXPECT_THAT(Read({"init", "--ssh-config", "--slurm"}).argv,
              ElementsAre("init", "--ssh-config", "--slurm"));
}

TEST_F(CommandLineTest, ArgumentsAreOptionsWithTheirValuesAndOthers) {
  const std::vector<std::string> argv = {"run", "--lease=4", "a", "--spec", "b", "--sync", "-n4"};
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Argument& argument : ArgumentsOf(*app_.get_subcommand("run"), argv)) {
    found.emplace_back(argument.option, argument.words);
  }
  using Found = decltype(found)::value_type;
  EXPECT_THAT(found, ElementsAre(Found{"--lease", {"--lease=4"}}, Found{"", {"a"}},
                                 Found{"--spec", {"--spec", "b"}}, Found{"--sync", {"--sync"}},
                                 Found{"--nproc-per-node", {"-n4"}}));
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
  EXPECT_THAT(Refusal({"python", "-m", "train"}), HasSubstr("`autodist run -- python -m train`"));
  EXPECT_EQ(Refusal({"frobnicate"}),
            "there is no command 'frobnicate' | `autodist --help` lists the commands");
}

TEST_F(CommandLineTest, CommandsOfOtherProgramsAreTranslated) {
  for (const auto& [word, ours] : {std::pair{"list", "`autodist ps`"},
                                   {"squeue", "`autodist ps`"},
                                   {"history", "`autodist ps`"},
                                   {"kil", "`autodist stop`"},
                                   {"histroy", "`autodist ps`"},
                                   {"scp", "`autodist fetch PATTERN`"},
                                   {"kill", "`autodist stop`"},
                                   {"scancel", "`autodist stop`"},
                                   {"rm", "`autodist prune`"},
                                   {"torchrun", "`autodist run -- PROGRAM`"},
                                   {"dashboard", "`autodist web`"},
                                   {"wait", "`autodist attach JOB`"},
                                   {"sync", "`autodist run --sync"},
                                   {"env", "`autodist run --env NAME=VALUE"},
                                   {"export", "`autodist run --env NAME=VALUE"},
                                   {"metrics", "`autodist run --metrics"},
                                   {"debug", "`autodist run --stdin-rank 0"},
                                   {"gpus", "`autodist top`"},
                                   {"ssh", "ssh HOST"},
                                   {"tunnel", "ssh -L PORT:localhost:PORT HOST"},
                                   {"notebook", "ssh -L PORT:localhost:PORT HOST"},
                                   {"profile", "`autodist why`"},
                                   {"resume", "--max-restarts"},
                                   {"upgrade", "a newer release"}}) {
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
  EXPECT_THAT(Refusal({"run", "--python-venv", "v", "x"}),
              HasSubstr("| write `python_venv` in the spec, or run the environment's own program"));
  EXPECT_THAT(Refusal({"run", "--key-file=k", "x"}), HasSubstr("| write `key_file` in the spec"));
}

TEST_F(CommandLineTest, OptionsOfOtherLaunchersAreTranslated) {
  EXPECT_THAT(Refusal({"run", "-np", "4", "x"}), HasSubstr("mpirun's; write `autodist run -n 4`"));
  EXPECT_THAT(Refusal({"run", "-np4", "x"}), HasSubstr("has no option '-np4'"));
  EXPECT_THAT(Refusal({"run", "--np=4", "x"}), HasSubstr("`autodist run -n 4`"));
  EXPECT_THAT(Refusal({"-np", "4", "x"}), HasSubstr("`autodist run -n 4`"));
  EXPECT_THAT(Refusal({"run", "-N4", "x"}), HasSubstr("srun's; write `autodist run --hosts"));
  EXPECT_THAT(Refusal({"run", "-x", "A=1", "x"}), HasSubstr("`autodist run --env A=1`"));
  EXPECT_THAT(Refusal({"run", "-x", "A", "x"}), HasSubstr("`autodist run --pass-env A`"));
  EXPECT_THAT(Refusal({"run", "--rdzv_id", "4", "x"}), HasSubstr("torchrun's; leave it out: "));
  EXPECT_THAT(Refusal({"run", "--use_env", "train.py"}),
              HasSubstr("torch.distributed.launch's; leave it out: autodist always sets"));
}

TEST_F(CommandLineTest, OptionsHaveBothSpellings) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "--nproc_per_node=4", "x"},
        {"run", "--nproc_per_node", "4", "x"}}) {
    const CommandLine line = Read(words);
    ASSERT_GT(line.argv.size(), 1u);
    EXPECT_THAT(line.argv[1], testing::StartsWith("--nproc-per-node"));
    EXPECT_THAT(line.program, ElementsAre("x"));
  }
  EXPECT_THAT(Read({"run", "--pass_env=A_B", "x"}).argv, ElementsAre("run", "--pass-env=A_B"));
  EXPECT_THAT(Refusal({"--nproc_per_node=4", "x"}), HasSubstr("`autodist run --nproc-per-node=4`"));
}

TEST_F(CommandLineTest, AModuleRunsAsWithTorchrun) {
  EXPECT_THAT(Read({"run", "-n", "2", "-m", "pkg.train", "--lr", "1"}).program,
              ElementsAre("-m", "pkg.train", "--lr", "1"));
  EXPECT_THAT(Read({"run", "--", "-m", "pkg.train"}).program, ElementsAre("-m", "pkg.train"));
  EXPECT_THAT(Refusal({"run", "--", "--nproc_per_node=2", "-m", "pkg.train"}),
              HasSubstr("`autodist run --nproc-per-node=2 -- -m pkg.train`"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "-m"}, {"run", "--", "-m", "--nproc_per_node=2", "x"}}) {
    EXPECT_EQ(Refusal(words), "'-m' has no module | name it: `autodist run -- -m MODULE`");
  }
}

TEST_F(CommandLineTest, OptionsAfterDashesAreNoProgram) {
  EXPECT_EQ(Refusal({"run", "--sync", "--", "--nproc_per_node=2", "--lease", "5", "train.py"}),
            "'--nproc_per_node=2' is not a program | write options before '--': `autodist run "
            "--sync --nproc-per-node=2 --lease 5 -- train.py`");
  EXPECT_THAT(Refusal({"run", "--", "--nnodes=2", "train.py"}),
              HasSubstr("run has no option '--nnodes' | it is torchrun's; write"));
  EXPECT_THAT(Refusal({"run", "--", "--nnodes", "2", "--rdzv-id=7", "train.py"}),
              HasSubstr("run has no options '--nnodes' or '--rdzv-id'"));
  EXPECT_THAT(Refusal({"run", "--", "--nproc_per_node=2", "--use_env", "train.py"}),
              HasSubstr("run has no option '--use_env' | it is torch.distributed.launch's; leave"));
  EXPECT_THAT(Refusal({"run", "--", "--zzzzzzzzz", "train.py"}), HasSubstr("no option"));
  EXPECT_THAT(Read({"run", "--", "./train", "--nproc_per_node=2"}).program,
              ElementsAre("./train", "--nproc_per_node=2"));
}

TEST_F(CommandLineTest, EachVariableHasItsOwnOption) {
  const std::string hint = "give each variable its own option: --env B=2";
  EXPECT_THAT(Refusal({"run", "--env", "A=1", "B=2", "--", "x"}), HasSubstr(hint));
  EXPECT_THAT(Refusal({"run", "--env", "A=1", "B=2", "x"}), HasSubstr(hint));
  EXPECT_THAT(Refusal({"run", "--", "B=2", "x"}), HasSubstr(hint));
  EXPECT_THAT(Read({"run", "./a=b"}).program, ElementsAre("./a=b"));
  EXPECT_THAT(Refusal({"run", "--env-file", "x", "y"}), HasSubstr("autodist run --env NAME=VALUE"));
  EXPECT_THAT(Refusal({"submit", "--env-file", "x", "y"}), HasSubstr("did you mean --pass-env?"));
}

TEST_F(CommandLineTest, OptionsOfSbatch) {
  for (const auto& [word, next, hint] :
       {std::tuple{"-N", "3", "write `--nodes 3`"},
        {"-N3", "x", "write `--nodes 3`"},
        {"-p", "long", "write `--partition long`"},
        {"-J", "sweep", "write `--name sweep`"},
        {"-C", "a100", "for sbatch: `--sbatch=--constraint=a100`"},
        {"--gres", "gpu:8", "for sbatch: `--sbatch=--gres=gpu:8`"},
        {"--gres=gpu:8", "x", "for sbatch: `--sbatch=--gres=gpu:8`"}}) {
    EXPECT_THAT(Refusal({"submit", word, next, "--", "x"}), HasSubstr(hint)) << word;
  }
}

TEST_F(CommandLineTest, SeveralOptionsOfOtherLaunchersAreTranslatedAtOnce) {
  const std::string several = Refusal({"run", "--nproc_per_node", "2", "--lease", "5", "--rdzv_id",
                                       "7", "--standalone", "train.py", "--np"});
  EXPECT_THAT(several, HasSubstr("no options '--rdzv_id' or '--standalone'"));
  EXPECT_THAT(several, HasSubstr("\n      --rdzv_id: it is torchrun's; leave it out"));
  EXPECT_THAT(Refusal({"run", "-np", "4", "--bind-to", "none", "x"}),
              HasSubstr("'-np' or '--bind-to'"));
  const std::string nodes = Refusal({"run", "--num_gpus=2", "--nnodes=3", "x"});
  EXPECT_THAT(nodes, HasSubstr("--num_gpus: leave it out; --hosts HOST1:N,HOST2:N gives"));
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

TEST_F(CommandLineTest, ListsWithoutCommasAndExpandedPatternsAreNoProgram) {
  for (const auto& [words, hint] :
       {std::pair<std::vector<std::string>, std::string>{
            {"run", "--hosts", "gpu1", "gpu2", "gpu3", "--", "x"}, "--hosts gpu1,gpu2,gpu3"},
        {{"run", "--hosts=a", "b", "--sync", "--", "x"}, "--hosts a,b"},
        {{"run", "--hosts", "gpu1", "gpu2", "./train"}, "--hosts gpu1,gpu2"},
        {{"run", "--hosts", "10.0.0.1:4", "10.0.0.2:4", "x"}, "--hosts 10.0.0.1:4,10.0.0.2:4"},
        {{"run", "--fetch", "ckpt-1", "ckpt-2", "--", "x"}, "--fetch 'out/*'"}}) {
    EXPECT_THAT(Refusal(words), HasSubstr("' is not an option | "));
    EXPECT_THAT(Refusal(words), HasSubstr(hint));
  }
  EXPECT_THAT(Read({"run", "--hosts", "gpu1", "train", "gpu2"}).program,
              ElementsAre("train", "gpu2"));
  EXPECT_THAT(Read({"run", "--hosts", "a1", "--sync", "a2"}).program, ElementsAre("a2"));
}

TEST_F(CommandLineTest, AFileAfterFetchIsNoProgramIfTheShellMayHaveExpandedThePattern) {
  const test::TempFolder folder;
  const std::string data = folder.Write("ckpt-2", "");
  const std::string script = folder.Write("train.py", "");
  const std::string program = folder.Write("train", "");
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  EXPECT_THAT(Refusal({"run", "--fetch", "ckpt-1", data}), HasSubstr("quote the pattern"));
  for (const auto& [pattern, word] : {std::pair<std::string, std::string>{"ckpt-1", "no-such-file"},
                                      {"ckpt*", data},
                                      {"ckpt-1", script},
                                      {"ckpt-1", program}}) {
    EXPECT_THAT(Read({"run", "--fetch", pattern, word}).program, ElementsAre(word));
  }
  EXPECT_THAT(Refusal({"run", "--fetch", "ckpt*", "x", "--", "y"}), HasSubstr("may precede '--'"));
}

TEST_F(CommandLineTest, AFileAfterFetchWithTheNameOfAProgramIsAProgram) {
  const test::TempFolder folder;
  const test::TempFolder programs;
  const std::string program = programs.Write("tool", "");
  ASSERT_EQ(chmod(program.c_str(), 0700), 0);
  folder.Write("tool", "");
  const test::ScopedVariable path("PATH", programs.path());
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_THAT(Read({"run", "--fetch", "ckpt-1", "tool"}).program, ElementsAre("tool"));
  std::filesystem::current_path(before);
}

TEST_F(CommandLineTest, ArgumentsMayFollowDashes) {
  const CommandLine line = Read({"logs", "--follow", "--", "3fa9c1"});
  EXPECT_THAT(line.argv, ElementsAre("logs", "--follow", "3fa9c1"));
  EXPECT_THAT(line.program, IsEmpty());
  EXPECT_THAT(Refusal({"logs", "--", "last", "--follow"}), HasSubstr("write options before '--'"));
  app_.add_subcommand("complete")->allow_extras();
  EXPECT_THAT(Read({"complete", "--", "logs", "--fo"}).program, ElementsAre("logs", "--fo"));
}

TEST_F(CommandLineTest, MissingAndExtraArgumentsAreNamed) {
  EXPECT_EQ(WhyParsed({"logs"}), "logs: JOB is missing");
  EXPECT_EQ(WhyParsed({"logs", "a", "b"}), "logs: unexpected argument: 'b'; give one job");
  EXPECT_EQ(WhyParsed({"run", "--spec"}), "run: --spec needs a value");
}

TEST(CheckStartedOnceTest, TasksOfAnotherLauncherAreRefused) {
  using Environment = std::map<std::string, std::string>;
  for (const auto& [environment, refusal] :
       {std::pair<Environment, std::string>{{}, ""},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, ""},
        {{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}, "one of 8 tasks of srun"},
        {{{"OMPI_COMM_WORLD_SIZE", "1"}}, ""},
        {{{"OMPI_COMM_WORLD_SIZE", "4"}}, "one of 4 tasks of mpirun (OMPI_COMM"},
        {{{"PMI_SIZE", "2"}}, "one of 2 tasks of mpirun (PMI_SIZE)"},
        {{{"OMPI_COMM_WORLD_SIZE", "4"}, {"AUTODIST_RANK", "0"}}, ""}}) {
    const Status checked = CheckStartedOnce([&from = environment](const std::string& name) {
      const auto found = from.find(name);
      return found == from.end() ? std::nullopt : std::optional(found->second);
    });
    EXPECT_EQ(checked.ok(), refusal.empty()) << checked;
    EXPECT_THAT(Message(checked), HasSubstr(refusal));
  }
}

TEST(CheckStartedOnceTest, TheHintNamesTheVariablesThatAreSet) {
  using Environment = std::map<std::string, std::string>;
  const Environment in_step = {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
  Environment with_pmi = in_step;
  with_pmi["PMI_SIZE"] = "4";
  for (const auto& [environment, command] :
       {std::pair{in_step, "`env -u SLURM_STEP_ID autodist ...`"},
        {with_pmi, "`env -u SLURM_STEP_ID -u PMI_SIZE autodist ...`"},
        {{{"OMPI_COMM_WORLD_SIZE", "4"}}, "`env -u OMPI_COMM_WORLD_SIZE autodist ...`"}}) {
    const Status checked = CheckStartedOnce([&from = environment](const std::string& name) {
      const auto found = from.find(name);
      return found == from.end() ? std::nullopt : std::optional(found->second);
    });
    EXPECT_THAT(Remedy(checked), HasSubstr(command));
  }
}

}  // namespace
}  // namespace autodist::cli
