// Commands of jobs: placeholders, and programs that start ranks themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/command_argv.h"
#include "plan/rank_environment.h"
#include "support/example_plan.h"

namespace autodist::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kPerDevice = v1::PROGRAM_KIND_PER_DEVICE;
constexpr auto kPerNode = v1::PROGRAM_KIND_PER_NODE;
constexpr auto kPerJob = v1::PROGRAM_KIND_PER_JOB;

Result<v1::LaunchPlan> PlanOf(std::vector<std::string> command, v1::ProgramKind kind = kPerDevice) {
  Input input = test::InputFor(test::kTwoAndOne, {}, kind);
  input.command = std::move(command);
  return MakePlan(input);
}

TEST(PlaceholdersTest, AreReplacedByTheValuesOfTheRank) {
  const auto plan = PlanOf({"./train", "--rank={rank}/{world_size}", "{local_rank}{node_rank}",
                            "{master_addr}:{master_port}", "{local_world_size} {node_count}"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->nodes(1).ranks(0).argv(),
              ElementsAre("./train", "--rank=2/3", "01", "10.0.0.1:4711", "1 2"));
}

TEST(PlaceholdersTest, OtherTextInBracesIsUnchanged) {
  const std::vector<std::string> command = {"./train",  R"({"lr": 0.1, "x": {"y": [1]}})",
                                            "{{ x }}",  "{ranks}",
                                            "{rank",    "{",
                                            "{{",       "}{",
                                            "${rank }", ""};
  const auto plan = PlanOf(command);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const auto& argv = plan->nodes(0).ranks(0).argv();
  EXPECT_EQ(std::vector<std::string>(argv.begin(), argv.end()), command);
}

TEST(PlaceholdersTest, DoubledBracesAreEscapes) {
  const auto plan = PlanOf({"./train", "{{rank}}", "{{rank}", "{{{rank}}}", "a{{rank}}{rank}"});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->nodes(0).ranks(1).argv(),
              ElementsAre("./train", "{rank}", "{rank}", "{{rank}}", "a{rank}1"));
}

TEST(PlaceholdersTest, SomeHaveNoValueForSomePrograms) {
  EXPECT_THAT(Message(PlanOf({"./train", "-r{local_rank}"}, kPerNode).status()),
              HasSubstr("argument '-r{local_rank}': {local_rank} has no value for a program that "
                        "is started once per node"));
  EXPECT_THAT(Message(PlanOf({"./train", "{node_rank}"}, kPerJob).status()),
              HasSubstr("started once per job"));
  EXPECT_TRUE(PlanOf({"./train", "{node_rank}", "{local_world_size}"}, kPerNode).ok());
  EXPECT_TRUE(PlanOf({"./train", "{world_size}", "{master_addr}"}, kPerJob).ok());
}

TEST(WithPythonTest, ScriptsAndModulesRunAsWithTorchrun) {
  using Command = std::vector<std::string>;
  struct Case {
    Command command;
    bool needs_interpreter;
    bool python;
  };
  const Case cases[] = {
      {{"train.py", "--lr", "1"}, true, true},
      {{"train.py"}, false, false},  // in PATH
      {{"./train.py"}, true, true},  // not executable, or without "#!"
      {{"./train.py"}, false, false},
      {{"/app/train.py"}, false, false},  // only the nodes have it
      {{"-m", "pkg.train"}, false, true},
      {{"./train"}, true, false},
      {{"python", "train.py"}, false, false},
      {{"-mca", "x"}, true, false},
      {{}, true, false},
  };
  for (const Case& one : cases) {
    Command wanted = one.command;
    if (one.python) wanted.insert(wanted.begin(), "python3");
    EXPECT_EQ(WithPython(one.command, one.needs_interpreter), wanted)
        << testing::PrintToString(one.command);
  }
}

TEST(CheckForRanksTest, AnActivationIsNoProgram) {
  using Command = std::vector<std::string>;
  struct Case {
    Command command;
    std::string statement;  // the end of the one that the hint gives
  };
  const Case cases[] = {
      {{"conda", "activate", "train"}, "conda.sh; conda activate train'"},
      {{"conda", "activate", "my env"}, "conda.sh; conda activate 'my env''"},
      {{"conda activate train && python x.py"}, "conda.sh; conda activate train'"},
      {{"/opt/conda/bin/conda", "activate"}, "conda.sh; conda activate'"},
      {{"micromamba", "activate", "x"}, "conda.sh; conda activate x'"},
      {{"module", "load", "cuda/12.4", "gcc"}, "profile; module load cuda/12.4 gcc'"},
      {{"module load cuda; python x.py"}, "profile; module load cuda'"},
      {{"module", "purge"}, "profile; module purge'"},
  };
  for (const auto& [command, statement] : cases) {
    const Status status = PlanOf(command).status();
    EXPECT_THAT(Message(status), HasSubstr("` changes only the shell that runs it"));
    EXPECT_THAT(Remedy(status), HasSubstr("python_venv"));
    EXPECT_THAT(Remedy(status), HasSubstr(statement));
  }
  for (const Command& command : {Command{"conda", "run", "-n", "x", "python"}, Command{"conda"},
                                 Command{"module"}, Command{"./module.py", "load"},
                                 Command{"./activate"}, Command{"echo", "conda", "activate"}}) {
    EXPECT_TRUE(CheckForRanks(command).ok()) << testing::PrintToString(command);
  }
}

TEST(KnownLaunchersTest, AreFoundAnywhereInTheCommand) {
  using Command = std::vector<std::string>;
  for (const Command& command :
       {Command{"torchrun", "x.py"}, Command{"/opt/venv/bin/torchrun"},
        Command{"python", "-m", "torch.distributed.run", "x.py"},
        Command{"python3.11", "-u", "-X", "dev", "-m", "torch.distributed.launch"},
        Command{"env", "A=1", "-u", "B", "python3", "-mpaddle.distributed.launch"},
        Command{"env", "-C", "/data", "--ignore-environment", "torchrun"},
        Command{"nohup", "nice", "-n", "5", "/usr/bin/time", "-v", "torchrun"},
        Command{"taskset", "-c", "0-3", "stdbuf", "-oL", "setsid", "torchrun"},
        Command{"ionice", "-c2", "-n", "7", "chrt", "-f", "10", "torchrun"},
        Command{"python", "-um", "torch.distributed.run", "x.py"},
        Command{"python", "-Bumtorch.distributed.run"}, Command{"python3", "/usr/bin/torchrun"},
        Command{"msrun"}, Command{"accelerate", "launch", "x.py"}}) {
    const auto launcher = LauncherIn(command);
    ASSERT_TRUE(launcher) << command[0];
    EXPECT_EQ(launcher->kind, kPerNode) << launcher->name;
  }
  EXPECT_EQ(LauncherIn({"mpirun", "-n", "2"})->kind, kPerJob);
  for (const Command& command :
       {Command{"./train"}, Command{"python", "train.py", "torchrun"}, Command{"python"},
        Command{"python", "-m", "train"}, Command{"accelerate", "config"}, Command{"env"},
        Command{"python", "-c", "import torch"}, Command{"python", "-uc", "torchrun"},
        Command{"nice", "./train", "torchrun"}, Command{"env", "-u", "torchrun", "./train"},
        Command{"env", "-u"}, Command{"numactl", "-N", "0"}, Command{"python", "-um"}, Command{}}) {
    EXPECT_FALSE(LauncherIn(command)) << testing::PrintToString(command);
  }
}

TEST(KnownLaunchersTest, NeedTheRightKind) {
  const auto torchrun = PlanOf({"torchrun", "x.py"});
  EXPECT_EQ(Message(torchrun.status()),
            "torchrun starts the ranks of a node itself: start it once per node");
  EXPECT_EQ(Remedy(torchrun.status()),
            "add --per node, or leave it out: autodist starts one rank per device");
  EXPECT_THAT(Remedy(PlanOf({"mpirun"}, kPerNode).status()), HasSubstr("add --per job"));
  EXPECT_TRUE(PlanOf({"torchrun", "x.py"}, kPerNode).ok());
}

// With PyTorch's variables, programs of other frameworks would train separately.
TEST(KnownLaunchersTest, AreNotRecognizedWithAnExplicitFramework) {
  const auto remedy = [](const char* launcher) { return Remedy(PlanOf({launcher}).status()); };
  EXPECT_EQ(remedy("mpirun"),
            "add --per job, or leave it out and add --framework mpi: autodist starts one rank per "
            "device");
  EXPECT_THAT(remedy("msrun"), HasSubstr("leave it out and add --framework mindspore: "));
  EXPECT_THAT(remedy("fleetrun"), HasSubstr("leave it out and add --framework paddle: "));
}

TEST(KnownLaunchersTest, ThatReachTheNodesThemselvesAreRefusedOnlyPerDevice) {
  const auto deepspeed = PlanOf({"deepspeed", "x.py"});
  EXPECT_EQ(Message(deepspeed.status()),
            "deepspeed starts the ranks of all nodes itself: do not start it once per device");
  EXPECT_EQ(Remedy(deepspeed.status()),
            "leave it out and add --framework deepspeed: autodist starts one rank per device; "
            "with --per job it reaches the nodes itself");
  EXPECT_THAT(Remedy(PlanOf({"horovodrun"}).status()), HasSubstr("add --framework horovod: "));
  EXPECT_THAT(Remedy(PlanOf({"srun"}).status()), StartsWith("leave it out: "));
  EXPECT_EQ(Remedy(PlanOf({"mpirun.mpich"}).status()),
            "add --per job; it then reaches the nodes itself");
  for (const char* launcher : {"deepspeed", "horovodrun", "srun", "mpiexec.hydra"}) {
    EXPECT_FALSE(PlanOf({launcher}).ok()) << launcher;
    EXPECT_TRUE(PlanOf({launcher, "--node_rank={node_rank}"}, kPerNode).ok()) << launcher;
    EXPECT_TRUE(PlanOf({launcher}, kPerJob).ok()) << launcher;
  }
}

TEST(KnownLaunchersTest, SelectTheirFramework) {
  EXPECT_THAT(PlanOf({"mpirun", "./x"}, kPerJob)->frameworks(), ElementsAre("mpi"));
  EXPECT_THAT(PlanOf({"numactl", "-N", "0", "mpirun", "./x"}, kPerJob)->frameworks(),
              ElementsAre("mpi"));
  EXPECT_THAT(PlanOf({"python", "-m", "paddle.distributed.launch"}, kPerNode)->frameworks(),
              ElementsAre("paddle"));
  EXPECT_THAT(PlanOf({"./train"})->frameworks(), ElementsAre("torch"));
}

}  // namespace
}  // namespace autodist::plan
