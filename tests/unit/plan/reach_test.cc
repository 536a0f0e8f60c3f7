#include "plan/ssh_reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/plans.h"

namespace autodist::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

v1::Reach ReachBy(const std::string& group) {
  Input input = test::ThreeNodeInput();
  input.spec = *spec::ReadSpec("nodes: [{address: pod-1, gpus: [0], ssh_config: g}]\nssh:\n  g: {" +
                                   group + "}\n",
                               "test")
                    .spec;
  const spec::Node& node = input.spec.nodes[0];
  return MakeReach(node, input.spec.group_of(node), {}, input.user, {"job-1", 4, "~/work"});
}

TEST(ReachTest, ProgramsInPlaceOfSsh) {
  EXPECT_THAT(ReachBy("via: kubectl").program().argv(),
              ElementsAre("kubectl", "exec", "-i", "pod-1", "--"));
  EXPECT_THAT(ReachBy("via: kubectl, container: main").program().argv(),
              ElementsAre("kubectl", "exec", "-i", "pod-1", "-c", "main", "--"));
  EXPECT_THAT(ReachBy("via: docker").program().argv(),
              ElementsAre("docker", "exec", "-i", "pod-1"));
  EXPECT_THAT(ReachBy("via: [x, 'at={node}', --]").program().argv(),
              ElementsAre("x", "at=pod-1", "--"));
}

TEST(ReachTest, ContainersBehindALogin) {
  const v1::Reach there = ReachBy("username: ann, via: podman, container: train");
  EXPECT_EQ(there.ssh().username(), "ann");
  EXPECT_THAT(there.ssh().container().argv(),
              ElementsAre("podman", "exec", "-i", "--detach-keys=", "train"));
  EXPECT_EQ(there.ssh().container().image(), "");
  EXPECT_THAT(ReachBy("via: [x, '{container}'], container: c").ssh().container().argv(),
              ElementsAre("x", "c"));
}

TEST(ReachTest, CreatedContainers) {
  const v1::Reach made = ReachBy("via: docker, image: 'i:1', run_options: [-v, '/d:/d']");
  EXPECT_EQ(made.ssh().container().image(), "i:1");
  EXPECT_EQ(made.ssh().container().program(), "docker");
  EXPECT_THAT(made.ssh().container().argv(), Contains("autodist-job-1.4"));
  EXPECT_THAT(made.ssh().container().argv(), Contains("i:1"));
  EXPECT_THAT(made.ssh().container().argv(), Contains("~/work"));
  EXPECT_THAT(made.ssh().container().argv(), Contains("--gpus all -v /d:/d"));
  EXPECT_THAT(ReachBy("via: podman, image: i").ssh().container().argv(),
              Contains(HasSubstr("nvidia.com/gpu=all")));
}

TEST(ReachTest, AContainerForEachRankIsPartOfItsProgram) {
  EXPECT_FALSE(ReachBy("via: apptainer, image: i.sif").ssh().has_container());
  Input input = test::ThreeNodeInput();
  input.spec.ssh["a"].via = {"apptainer"};
  input.spec.ssh["a"].image = "i.sif";
  input.spec.ssh["a"].run_options = {"--cleanenv"};
  const v1::LaunchPlan plan = *MakePlan(input);
  for (const v1::NodePlan& node : plan.nodes()) {
    const auto& argv = node.ranks(0).argv();
    if (node.address() == "10.0.0.2") {
      EXPECT_THAT(argv, ElementsAre("apptainer", "exec", "--bind", "/work", "--cleanenv", "i.sif",
                                    "./train", "two words"));
    } else {
      EXPECT_THAT(argv, ElementsAre("./train", "two words"));
    }
  }
}

}  // namespace
}  // namespace autodist::plan
