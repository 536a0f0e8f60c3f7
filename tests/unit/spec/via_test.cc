#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/yaml_reader.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ReadOutcome ReadGroup(const std::string& group) {
  return ReadSpec("nodes: [{address: a, ssh_config: g}]\nssh:\n  g: {" + group + "}\n", "f");
}

std::vector<std::string> ViaIssues(const std::string& group) {
  std::vector<std::string> issues;
  for (const Issue& issue : ReadGroup(group).issues) issues.push_back(issue.ToString());
  return issues;
}

TEST(ViaTest, AContainerBehindALogin) {
  const auto outcome = ReadGroup("username: ann, via: docker, container: train_1.x-2");
  ASSERT_TRUE(outcome.spec);
  const SshGroup& group = outcome.spec->ssh.at("g");
  EXPECT_THAT(group.via, ElementsAre("docker"));
  EXPECT_TRUE(group.InContainerBehindLogin());
  EXPECT_FALSE(group.ByProgram());
}

TEST(ViaTest, AProgramInPlaceOfALogin) {
  for (const std::string via : {"via: podman", "via: kubectl, container: main",
                                "via: [my, '--at={node}', --]", "via: srun"}) {
    const auto outcome = ReadGroup(via);
    ASSERT_TRUE(outcome.spec) << via;
    EXPECT_TRUE(outcome.spec->ssh.at("g").ByProgram()) << via;
    EXPECT_EQ(outcome.spec->chief(), nullptr);
  }
}

TEST(ViaTest, AContainerForEachRank) {
  const auto outcome = ReadGroup("username: ann, via: apptainer, image: /shared/i.sif");
  ASSERT_TRUE(outcome.spec);
  EXPECT_TRUE(outcome.spec->ssh.at("g").PerRank());
  EXPECT_FALSE(outcome.spec->ssh.at("g").ByProgram());
  EXPECT_FALSE(outcome.spec->ssh.at("g").InContainerBehindLogin());
  EXPECT_THAT(ViaIssues("via: apptainer"), ElementsAre(HasSubstr("needs an 'image'")));
  EXPECT_THAT(ViaIssues("via: apptainer, image: i, container: c"), testing::SizeIs(1));
}

TEST(ViaTest, InvalidValues) {
  EXPECT_THAT(
      ViaIssues("via: lxc"),
      ElementsAre(HasSubstr("f:3:12: 'via' is 'lxc'; it should be podman, docker, apptainer, "
                            "kubectl, srun, or the words of a command")));
  EXPECT_THAT(ViaIssues("via: [podman]"), ElementsAre(HasSubstr("'via' should be podman")));
  EXPECT_THAT(ViaIssues("via: {a: b}"), ElementsAre(HasSubstr("'via' is a mapping")));
  EXPECT_THAT(ViaIssues("via: [run, --]"), ElementsAre(HasSubstr("where {node} goes")));
  EXPECT_THAT(ViaIssues("via: [run, '{node}'], container: c"),
              ElementsAre(HasSubstr("where {container} goes")));
  EXPECT_THAT(ViaIssues("via: [run, '{container}', '$(x)'], container: c"),
              ElementsAre(HasSubstr("pass a login shell")));
  EXPECT_THAT(ViaIssues("image: i"), ElementsAre(HasSubstr("'image' needs 'via: podman'")));
  for (const std::string via : {"kubectl", "srun"}) {
    EXPECT_THAT(ViaIssues("via: " + via + ", image: i"),
                ElementsAre(HasSubstr("that podman or docker")));
  }
  EXPECT_THAT(ViaIssues("via: srun, container: c"),
              ElementsAre(HasSubstr("'container' cannot be used with 'via: srun'")));
  EXPECT_THAT(ViaIssues("via: podman, image: i, container: c"),
              ElementsAre(HasSubstr("and no 'container'")));
  EXPECT_THAT(ViaIssues("via: podman, image: '-x y'"),
              ElementsAre(HasSubstr("'-x y' is not the name of an image")));
  EXPECT_THAT(ViaIssues("via: podman, container: c, run_options: [-v]"),
              ElementsAre(HasSubstr("'run_options' needs an 'image'")));
  EXPECT_THAT(ViaIssues("via: podman, image: i, run_options: ['$(x)']"),
              ElementsAre(HasSubstr("pass a login shell")));
  EXPECT_THAT(ViaIssues("container: c"), ElementsAre(HasSubstr("'container' needs 'via: podman'")));
  EXPECT_THAT(ViaIssues("via: docker, container: '-x'"),
              ElementsAre(HasSubstr("'-x' is not the name of a container")));
  EXPECT_THAT(ViaIssues("via: docker, port: 22, key_file: k"),
              ElementsAre(HasSubstr("'key_file' means nothing where there is no SSH login"),
                          HasSubstr("'port' means nothing")));
}

}  // namespace
}  // namespace autodist::spec
