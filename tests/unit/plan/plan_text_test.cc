#include "plan/plan_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "support/plans.h"

namespace autodist::plan {
namespace {

using testing::HasSubstr;
using testing::Not;

// Set UPDATE_GOLDEN=1 to update the file after an intended change.
TEST(PlanTextTest, EqualsTheGoldenFile) {
  const std::string path = TEST_SOURCE_DIR "/golden/plan.txt";
  const std::string text = PlanAsText(test::ThreeNodePlan(), GivenValues::kShown);
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(PlanTextTest, CommonValuesAreShownOnce) {
  plan::Input input = test::ThreeNodeInput();
  input.command = {"./train", "same"};
  const std::string same = PlanAsText(*MakePlan(input), GivenValues::kShown);
  for (const char* once : {"      WORLD_SIZE=5\n", "MASTER_PORT=4711", "argv: ./train same",
                           "      LOCAL_WORLD_SIZE=1", "CUDA_VISIBLE_DEVICES=1,3"}) {
    EXPECT_EQ(Count(same, once), 1u) << once;
  }
  EXPECT_EQ(Count(same, "AUTODIST_RANK="), 5u);
  EXPECT_EQ(Count(same, "AUTODIST_NODE_RANK="), 3u);
  input.command = {"./train", "{rank}"};
  EXPECT_EQ(Count(PlanAsText(*MakePlan(input), GivenValues::kShown), "argv: ./train "), 5u);
  input.command = {"./train", "{node_rank}"};
  EXPECT_EQ(Count(PlanAsText(*MakePlan(input), GivenValues::kShown), "argv: ./train "), 3u);
}

TEST(PlanTextTest, GpusNamedByUuid) {
  plan::Input input = test::ThreeNodeInput();
  spec::Node& chief = input.spec.nodes[1];
  chief.gpus = {0, 3};
  chief.gpu_uuids = {"MIG-a2b3", ""};
  const std::string text = PlanAsText(*MakePlan(input), GivenValues::kShown);
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES=MIG-a2b3,3\n"));
  EXPECT_THAT(text, HasSubstr("rank 0: gpu MIG-a2b3\n"));
  EXPECT_THAT(text, HasSubstr("rank 1: gpu 3\n"));
}

TEST(PlanTextTest, RanksOnCpusWithoutGpus) {
  plan::Input input = test::ThreeNodeInput();
  EXPECT_EQ(WhatRunsAndWhere(*MakePlan(input)), "5 ranks on 3 nodes");
  input.spec.no_gpu = "no GPU found on node3";
  EXPECT_EQ(WhatRunsAndWhere(*MakePlan(input)),
            "5 ranks on 3 nodes, 3 of them on CPUs (no GPU found on node3)");
  input.spec.nodes[1].gpus.clear();
  input.spec.no_gpu = "no GPU found";
  EXPECT_EQ(WhatRunsAndWhere(*MakePlan(input)), "4 ranks on 3 nodes, on CPUs (no GPU found)");
}

std::array<std::string, 2> BothForms(const v1::LaunchPlan& plan, GivenValues given) {
  return {PlanAsText(plan, given), PlanAsJson(plan, given)};
}

TEST(PlanTextTest, ValuesOfGivenVariablesAreHiddenByDefault) {
  plan::Input input = test::ThreeNodeInput();
  for (auto& [name, group] : input.spec.ssh) {
    group.python_venv = "export W=qu1et1";
    group.shared_envs = {{"LIBRARIES", "qu1et2"}};
  }
  input.variables = {{"SIZE", "qu1et3"}};
  const v1::LaunchPlan plan = *MakePlan(input);
  for (const std::string& text : BothForms(plan, GivenValues::kHidden)) {
    EXPECT_THAT(text, Not(HasSubstr("qu1et")));
    EXPECT_THAT(text, testing::AllOf(HasSubstr("activate"), HasSubstr("LIBRARIES"),
                                     HasSubstr("SIZE"), HasSubstr("NCCL_SOCKET_IFNAME")));
  }
  for (const std::string& text : BothForms(plan, GivenValues::kShown)) {
    EXPECT_THAT(text,
                testing::AllOf(HasSubstr("qu1et1"), HasSubstr("qu1et2"), HasSubstr("qu1et3")));
  }
}

TEST(PlanTextTest, ShowsNoSecret) {
  for (const std::string& text : BothForms(test::ThreeNodePlan(), GivenValues::kShown)) {
    EXPECT_THAT(text, Not(HasSubstr("s3cret")));
    EXPECT_THAT(text, HasSubstr("API_TOKEN"));
  }
  plan::Input input = test::ThreeNodeInput();
  input.variables = {{"COLOUR", "gr33n", true}, {"GIVEN_TOKEN", "gr33n"}, {"SIZE", "8"}};
  for (const std::string& text : BothForms(*MakePlan(input), GivenValues::kShown)) {
    EXPECT_THAT(text, Not(HasSubstr("gr33n")));
    EXPECT_THAT(text,
                testing::AllOf(HasSubstr("COLOUR"), HasSubstr("GIVEN_TOKEN"), HasSubstr("8")));
  }
  EXPECT_TRUE(IsSecretName("wandb_api_key"));
  EXPECT_FALSE(IsSecretName("LD_LIBRARY_PATH"));
}

TEST(PlanTextTest, JsonHasTheFieldsOfTheMessage) {
  const std::string json = PlanAsJson(test::ThreeNodePlan(), GivenValues::kShown);
  EXPECT_TRUE(json.starts_with("{\n \"job_id\": \"job-1\"")) << json.substr(0, 100);
  EXPECT_TRUE(json.ends_with("\n}\n"));
  EXPECT_THAT(json, HasSubstr("\"world_size\": 5"));
  EXPECT_THAT(json, HasSubstr("\"kind\": \"gpu\""));
  EXPECT_THAT(json, HasSubstr("\"argv\": [\"./train\", \"two words\"]"));
}

}  // namespace
}  // namespace autodist::plan
