#include "chief/remote_controller/start_remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/spec_text.h"
#include "spec/yaml_reader.h"
#include "support/plans.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

spec::ResourceSpec Read(const std::string& text) { return *spec::ReadSpec(text, "test").spec; }

// A laptop's spec: three machines behind a jump host, the last without ranks.
const char kSpec[] = R"(
nodes:
  - {address: a, gpus: [0, 1], ssh_config: far, shared_envs: {X: own}}
  - {address: b, gpus: [0], ssh_config: far, data_address: 10.1.0.2}
  - {address: c, gpus: [], cpus: [], ssh_config: far}
  - {address: d, gpus: [0], ssh_config: named}
ssh:
  far: {key_file: ~/k, proxy_jump: jump, python_venv: 'source v', shared_envs: {X: x, Y: y}}
  named: {username: ann, port: 2222}
)";

class RewriteSpecTest : public testing::Test {
 protected:
  RewriteSpecTest() {
    input_.spec = Read(kSpec);
    input_.command = {"./train"};
    input_.job_id = "job-1";
    input_.user = {"me", "/home/me", "/work", ""};
    input_.working_directory = "~/work";
    input_.master_port = 4711;
    for (const char* name : {"a", "b", "c", "d"}) {
      input_.address_of[name].ssh = "10.9.0.1";
      input_.address_of[name].data = "0.0.0.0";
      input_.address_of[name].ask = true;
    }
    input_.address_of["d"].openssh = {{"user", "configured"}};
    plan_ = *plan::MakePlan(input_);
  }

  plan::Input input_;
  v1::LaunchPlan plan_;
  const DataAddresses reported_ = {{"a", "10.1.0.1"}, {"d", "10.1.0.4"}};
};

TEST_F(RewriteSpecTest, TheTargetIsTheChiefWithTheSettingsOfItsGroup) {
  const spec::ResourceSpec there = RewriteSpec(input_.spec, plan_, "a", reported_, {});
  const spec::Node& chief = there.nodes[0];
  EXPECT_TRUE(chief.chief);
  EXPECT_EQ(chief.data_address, "10.1.0.1");
  EXPECT_EQ(chief.ssh_config, "");
  EXPECT_EQ(chief.python_venv, "source v");
  EXPECT_THAT(chief.shared_envs, ElementsAre(Pair("Y", "y"), Pair("X", "own")));
}

TEST_F(RewriteSpecTest, TheOthersAreReachedAtTheirInnerAddresses) {
  const spec::ResourceSpec there =
      RewriteSpec(input_.spec, plan_, "a", reported_, {{"d", {"ssh-ed25519 AAAA"}}});
  ASSERT_EQ(there.nodes.size(), 3U);  // without the machine that has no ranks
  EXPECT_EQ(there.nodes[1].ssh_address, "10.1.0.2");
  EXPECT_EQ(there.nodes[2].ssh_address, "10.1.0.4");
  EXPECT_THAT(there.nodes[2].host_keys, ElementsAre("ssh-ed25519 AAAA"));
  EXPECT_THAT(there.nodes[1].host_keys, IsEmpty());
  for (const auto& [name, group] : there.ssh) EXPECT_EQ(group.proxy_jump, "");
}

TEST_F(RewriteSpecTest, UsersAndKeysAreThoseConfiguredHere) {
  const spec::ResourceSpec there = RewriteSpec(input_.spec, plan_, "a", reported_, {});
  EXPECT_EQ(there.group_of(there.nodes[1]).username, "me");
  EXPECT_EQ(there.group_of(there.nodes[2]).username, "ann");
  EXPECT_EQ(there.nodes[2].port, 2222);
}

TEST_F(RewriteSpecTest, ResultIsAValidSpec) {
  const auto there = RewriteSpec(input_.spec, plan_, "b", reported_, {{"d", {"ssh-ed25519 AAAA"}}});
  const spec::ReadOutcome read = spec::ReadSpec(spec::SpecText(there), "f");
  ASSERT_TRUE(read.issues.size() == 1) << "the key is none";
  EXPECT_THAT(read.issues[0].what, HasSubstr("host_keys"));
  EXPECT_TRUE(
      spec::ReadSpec(spec::SpecText(RewriteSpec(input_.spec, plan_, "b", reported_, {})), "f")
          .spec);
}

TEST_F(RewriteSpecTest, MissingKeyFilesAreOmitted) {
  const test::TempFolder folder;
  spec::ResourceSpec spec = input_.spec;
  spec.ssh["far"].key_file = folder.path() + "/none";
  spec.ssh["named"].key_file = folder.Write("key", "secret");
  UseKeysOfThisMachine(spec);
  EXPECT_EQ(spec.ssh["far"].key_file, "");
  EXPECT_EQ(spec.ssh["named"].key_file, folder.path() + "/key");
}

TEST_F(RewriteSpecTest, NodesThatMayBeTheChief) {
  EXPECT_EQ(*NodeForChief(input_.spec, plan_, "first"), "a");
  EXPECT_EQ(*NodeForChief(input_.spec, plan_, "d"), "d");
  EXPECT_THAT(Message(NodeForChief(input_.spec, plan_, "c").status()),
              HasSubstr("no node has that address"));
  v1::LaunchPlan here = plan_;
  here.mutable_nodes(0)->mutable_reach()->mutable_local();
  EXPECT_THAT(Message(NodeForChief(input_.spec, here, "d").status()), HasSubstr("from outside"));
  v1::LaunchPlan pods = plan_;
  pods.mutable_nodes(1)->mutable_reach()->mutable_program();
  EXPECT_THAT(Message(NodeForChief(input_.spec, pods, "b").status()),
              HasSubstr("that SSH reaches"));
}

}  // namespace
}  // namespace autodist::chief
