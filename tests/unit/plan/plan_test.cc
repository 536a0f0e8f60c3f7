#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/for_user.h"
#include "plan/plan_text.h"
#include "support/example_plan.h"
#include "support/plans.h"

namespace autodist::plan {
namespace {

using test::ValueOf;
using test::Whole;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A later step wins, and one with `unless` yields, so the order determines the value.
TEST(PlanTest, VariablesAreSetInOrderOfPrecedence) {
  plan::Input input = test::ThreeNodeInput();
  input.variables = {{"X", "given"}};
  const v1::LaunchPlan plan = *MakePlan(input);
  std::string order;
  for (const v1::EnvironmentStep& step : plan.nodes(1).environment()) {
    if (step.has_clean_login()) order += "login ";
    if (step.has_activate()) order += "activate ";
    if (step.has_remove()) order += "remove ";
    if (step.has_set()) {
      order += step.set().name() + (step.set().unless().empty() ? " " : "? ");
    }
  }
  EXPECT_EQ(
      order,
      "login activate remove X API_TOKEN X NCCL_SOCKET_IFNAME? GLOO_SOCKET_IFNAME? "
      "TP_SOCKET_IFNAME? TORCH_NCCL_ASYNC_ERROR_HANDLING? PYTHONUNBUFFERED? OMP_NUM_THREADS? PWD "
      "AUTODIST_AGENT_SOCKET ");
}

// "activate X=..." of the steps from a spec.
std::string GivenSteps(const v1::NodePlan& node) {
  std::string text;
  for (const v1::EnvironmentStep& step : node.environment()) {
    if (step.has_clean_login()) text += "login ";
    if (step.has_activate()) text += step.activate() + " ";
    if (step.set().given()) text += step.set().name() + "=" + step.set().expanded() + " ";
  }
  return text;
}

TEST(PlanTest, ANodesOwnEnvironmentPrecedesItsGroups) {
  plan::Input input = test::ThreeNodeInput();
  input.spec.nodes[0].python_venv = "own";
  input.spec.nodes[0].shared_envs = {{"X", "own"}, {"NEW", "1"}};
  input.spec.nodes[1].python_venv = "chief's";
  input.spec.nodes[1].shared_envs = {{"Z", "$A"}};
  input.spec.nodes[1].ssh_config = "a";  // ignored
  const v1::LaunchPlan plan = *MakePlan(input);
  EXPECT_EQ(GivenSteps(plan.nodes(0)), "chief's Z=$A ");
  EXPECT_EQ(GivenSteps(plan.nodes(1)), "login own API_TOKEN=s3cret X=own NEW=1 ");
  // Removes variables that bash sets, if there was an activation.
  const auto removed = [](const v1::LaunchPlan& of) {
    for (const auto& step : of.nodes(0).environment()) {
      if (step.has_remove()) return std::ranges::count(step.remove().names(), "SHLVL");
    }
    return std::ptrdiff_t{-1};
  };
  EXPECT_EQ(removed(plan), 1);
  EXPECT_EQ(removed(test::ThreeNodePlan()), 0);
}

TEST(PlanTest, NodesWithoutDevicesDoNotTakePart) {
  plan::Input input = test::ThreeNodeInput();
  input.spec.nodes[1].gpus = input.spec.nodes[1].cpus = {};  // the chief
  const v1::LaunchPlan plan = *MakePlan(input);
  ASSERT_EQ(plan.nodes_size(), 2);
  EXPECT_EQ(plan.nodes(0).address(), "10.0.0.2");
  EXPECT_TRUE(plan.nodes(0).reach().has_ssh());
  EXPECT_EQ(plan.nodes(0).node_rank(), 0u);
  EXPECT_EQ(plan.world_size(), 3u);
  const v1::LaunchPlan whole = Whole(plan);
  EXPECT_EQ(ValueOf(whole.nodes(1).ranks(0), "MASTER_ADDR"), "10.0.0.2");
  EXPECT_EQ(ValueOf(whole.nodes(1).ranks(0), "NODE_RANK"), "1");
  EXPECT_EQ(ValueOf(whole.nodes(1).ranks(0), "GROUP_WORLD_SIZE"), "2");
  EXPECT_THAT(plan.nodes(0).ports(), Contains(4711u));

  input.request.add_framework("horovod");
  const v1::LaunchPlan with_store = *MakePlan(input);
  const v1::RankPlan& store = *with_store.nodes(0).ranks().rbegin();
  EXPECT_TRUE(store.auxiliary() && store.by_agent());
  input.request.clear_framework();
  input.request.set_per(v1::PROGRAM_KIND_PER_JOB);
  EXPECT_THAT(PlanAsText(*MakePlan(input), GivenValues::kHidden),
              HasSubstr("by one program on 10.0.0.2"));
}

TEST(PlanTest, TheChiefIsFirstThenTheOrderOfTheSpec) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  ASSERT_EQ(plan.nodes_size(), 3);
  EXPECT_EQ(plan.nodes(0).address(), "10.0.0.1");
  EXPECT_EQ(plan.nodes(1).address(), "10.0.0.2");
  EXPECT_EQ(plan.nodes(2).address(), "node3");
  EXPECT_EQ(plan.world_size(), 5u);
  uint32_t next = 0;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) EXPECT_EQ(rank.rank(), next++);
  }
}

TEST(PlanTest, ContainsHowEachNodeIsReached) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  EXPECT_TRUE(plan.nodes(0).reach().has_local());
  EXPECT_FALSE(plan.nodes(0).environment(0).has_clean_login());
  const v1::SshReach& a = plan.nodes(1).reach().ssh();
  EXPECT_EQ(a.host(), "10.0.0.2");
  EXPECT_EQ(a.port(), 2222u);
  EXPECT_EQ(a.username(), "me");
  EXPECT_EQ(a.key_files(0), "/home/me/k");
  EXPECT_TRUE(plan.nodes(1).environment(0).has_clean_login());
  EXPECT_EQ(plan.nodes(1).environment(1).activate(), "source v");
  const v1::SshReach& b = plan.nodes(2).reach().ssh();
  EXPECT_EQ(b.username(), "ann");
  EXPECT_EQ(b.key_files(0), "/work/keys/b");
  EXPECT_EQ(plan.nodes(2).data_address(), "10.0.0.3");
}

TEST(PlanTest, SetsEachRanksPositionInTheWorld) {
  const v1::LaunchPlan plan = Whole(test::ThreeNodePlan());
  const v1::RankPlan& gpu = plan.nodes(0).ranks(1);
  EXPECT_EQ(gpu.device().kind(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(gpu.device().index(), 3u);
  EXPECT_EQ(ValueOf(gpu, "CUDA_VISIBLE_DEVICES"), "1,3");
  EXPECT_EQ(ValueOf(gpu, "LOCAL_RANK"), "1");
  EXPECT_THAT(gpu.argv(), ElementsAre("./train", "two words"));

  const v1::RankPlan& last = plan.nodes(2).ranks(0);
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"RANK", "4"},
           {"WORLD_SIZE", "5"},
           {"LOCAL_RANK", "0"},
           {"LOCAL_WORLD_SIZE", "1"},
           {"NODE_RANK", "2"},
           {"GROUP_RANK", "2"},
           {"MASTER_ADDR", "10.0.0.1"},
           {"MASTER_PORT", "4711"},
           {"AUTODIST_RANK", "4"},
           {"AUTODIST_NODE_ADDRESS", "10.0.0.3"},
           {"AUTODIST_NODE_ADDRESSES", "10.0.0.1,10.0.0.2,10.0.0.3"},
           {"TORCHELASTIC_USE_AGENT_STORE", "False"},
           {"CUDA_VISIBLE_DEVICES", ""}}) {
    EXPECT_EQ(ValueOf(last, name), value) << name;
  }
}

plan::Input LargeInput(const char* framework, int nodes) {
  plan::Input input = test::ThreeNodeInput();
  input.request.add_framework(framework);
  std::erase_if(input.spec.nodes, [](const spec::Node& node) { return !node.chief; });
  for (int i = 1; i < nodes; ++i) {
    spec::Node node;
    node.address = "10.1." + std::to_string(i / 256) + "." + std::to_string(i % 256);
    node.cpus = {0, 1};
    node.ssh_config = input.spec.ssh.begin()->first;
    input.address_of[node.address] = {node.address, node.address, "", {}};
    input.spec.nodes.push_back(node);
  }
  return input;
}

TEST(PlanTest, ListsOfAllNodesAreNotRepeatedForEachProcess) {
  for (const char* framework : {"torch", "jax"}) {
    plan::Input input = LargeInput(framework, 400);
    const auto plan = MakePlan(input);
    ASSERT_TRUE(plan.ok()) << plan.status();
    const v1::NodePlan& node = plan->nodes(399);
    EXPECT_EQ(ValueOf(node.ranks(1), "AUTODIST_NODE_ADDRESSES"), "(unset)");
    EXPECT_TRUE(ValueOf(Whole(*plan).nodes(399).ranks(1), "AUTODIST_NODE_ADDRESSES")
                    .ends_with(",10.1.1.143"));
    EXPECT_EQ(ValueOf(node.ranks(1), "AUTODIST_RANK"), "799");
    for (const v1::RankPlan& rank : node.ranks()) EXPECT_LT(rank.ByteSizeLong(), 512u);
    input.variables = {{"AUTODIST_NODE_ADDRESSES", "mine"}};
    EXPECT_EQ(MakePlan(input).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST(PlanTest, AListThatIsTooLongForExecIsRefused) {
  const Status refused = MakePlan(LargeInput("tensorflow", 8000)).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(refused), HasSubstr("framework 'tensorflow': on 8000 nodes TF_CONFIG would"));
}

TEST(PlanTest, RemovesVariablesOfAnOuterLauncher) {
  const v1::LaunchPlan plan = test::ThreeNodePlan();
  const auto& removed = plan.nodes(0).environment(0).remove().names();
  EXPECT_THAT(removed, Contains("TORCHELASTIC_*"));
  EXPECT_THAT(removed, Contains("SLURM_PROCID"));
}

TEST(PlanTest, NcclLogsAreKeptWithTheRanks) {
  plan::Input input = test::ThreeNodeInput();
  EXPECT_EQ(ValueOf(MakePlan(input)->nodes(0).ranks(0), "NCCL_DEBUG"), "(unset)");
  for (const auto& [level, file] : {std::pair{"VERSION", "(unset)"},
                                    {"WARN", "(unset)"},
                                    {"INFO", "/dev/stderr"},
                                    {"TRACE", "/dev/stderr"}}) {
    input.request.set_nccl_debug(level);
    const auto plan = MakePlan(input);
    for (const v1::NodePlan& node : plan->nodes()) {
      for (const v1::RankPlan& rank : node.ranks()) {
        EXPECT_EQ(ValueOf(rank, "NCCL_DEBUG"), level);
        EXPECT_EQ(ValueOf(rank, "NCCL_DEBUG_FILE"), file) << level;
      }
    }
  }
}

TEST(PlanTest, RanksStayNearTheirGpusUnlessDisabled) {
  plan::Input input = test::ThreeNodeInput();
  EXPECT_TRUE(MakePlan(input)->nodes(0).gpu_affinity());
  input.request.set_no_affinity(true);
  EXPECT_FALSE(MakePlan(input)->nodes(0).gpu_affinity());
}

TEST(PlanTest, GivenVariablesAreForEveryNode) {
  plan::Input input = test::ThreeNodeInput();
  input.variables = {{"A", "1=$B"}, {"KEY", "x", true}};
  const auto plan = MakePlan(input);
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const v1::NodePlan& node : plan->nodes()) {
    EXPECT_EQ(test::StepOf(node, "A").literal(), "1=$B");
    EXPECT_TRUE(test::StepOf(node, "KEY").secret());
  }
}

TEST(PlanTest, VariablesThatIdentifyRanksCannotBeSet) {
  plan::Input input = test::ThreeNodeInput();
  for (const char* name :
       {"RANK", "CUDA_VISIBLE_DEVICES", "AUTODIST_JOB_ID", "AUTODIST_AGENT_SOCKET"}) {
    input.variables = {{name, "3"}};
    const Status refused = MakePlan(input).status();
    EXPECT_EQ(Message(refused), std::string(name) + " is set by autodist itself, for each process");
  }
  input.variables = {{"A-B", "3"}};
  EXPECT_EQ(MakePlan(input).status().code(), StatusCode::kInvalidArgument);
  input.variables = {{"A", "\xff"}};
  EXPECT_EQ(Message(MakePlan(input).status()), "the value of A is not valid UTF-8");
}

TEST(PlanTest, HintsNameTheSpecOnlyIfThereIsOne) {
  plan::Input input = test::ThreeNodeInput();
  input.command = {"conda", "activate", "e"};
  EXPECT_THAT(Remedy(MakePlan(input).status()), HasSubstr("set python_venv in the spec, such as"));
  base::SetNodeSource(base::NodeSource::kHere);
  EXPECT_EQ(Remedy(MakePlan(input).status()), "run the command before `autodist run`");
  base::SetNodeSource(base::NodeSource::kSpec);
}

TEST(PlanTest, RefusesACommandThatCannotBeSent) {
  plan::Input input = test::ThreeNodeInput();
  input.command = {""};
  EXPECT_EQ(MakePlan(input).status().code(), StatusCode::kInvalidArgument);
  input.command = {"./train", "\xff"};
  EXPECT_EQ(Message(MakePlan(input).status()), "argument 1 of the program is not valid UTF-8");
  input.command = {"./train"};
  input.working_directory = "/data/caf\xe9";
  EXPECT_EQ(Message(MakePlan(input).status()),
            "the name of the working directory, /data/caf\xe9, is not valid UTF-8");
}

}  // namespace
}  // namespace autodist::plan
