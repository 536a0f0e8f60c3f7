#include "plan/ssh_reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::plan {
namespace {

using testing::ElementsAre;

const User kUser{"me", "/home/me", "/work", "/run/agent"};

spec::Node NodeAt(const std::string& address) {
  spec::Node node;
  node.address = address;
  return node;
}

TEST(SshReachTest, DefaultsAreThoseOfOpenssh) {
  const v1::SshReach ssh =
      MakeSshReach(NodeAt("gpu1"), {}, {"10.0.0.5", "10.0.0.5", "", {}}, kUser);
  EXPECT_EQ(ssh.host(), "gpu1");
  EXPECT_EQ(ssh.host_key_name(), "gpu1");
  EXPECT_EQ(ssh.address(), "10.0.0.5");
  EXPECT_EQ(ssh.port(), 22u);
  EXPECT_EQ(ssh.username(), "me");
  EXPECT_THAT(ssh.key_files(), testing::Contains("/home/me/.ssh/id_ed25519"));
  EXPECT_FALSE(ssh.key_file_required());
  EXPECT_FALSE(ssh.identities_only());
  EXPECT_EQ(ssh.agent_socket(), "/run/agent");
  EXPECT_EQ(ssh.host_key_check(), v1::HOST_KEY_CHECK_STRICT);
  EXPECT_EQ(ssh.known_hosts_files(0), "/home/me/.ssh/known_hosts");
  EXPECT_FALSE(ssh.by_ssh_program());
  EXPECT_EQ(ssh.connect_limit_ms(), 10'000u);
  EXPECT_EQ(ssh.login_limit_ms(), 60'000u);
}

TEST(SshReachTest, TheLimitOfALoginIsThatOfTheStart) {
  v1::JobRequest request;
  EXPECT_EQ(StartLimitOf(request), kDefaultStartLimit);
  request.set_start_timeout(180);
  const v1::SshReach ssh = MakeSshReach(NodeAt("gpu1"), {}, {"10.0.0.5", "10.0.0.5", "", {}}, kUser,
                                        StartLimitOf(request));
  EXPECT_EQ(ssh.login_limit_ms(), 180'000u);
}

TEST(SshReachTest, AllAddressesAndTheHintOfAnErrorAreKept) {
  NodeAddress address{"10.0.0.5", "10.0.0.5", "", {}};
  address.others = {"10.1.0.5", "fd00::5"};
  address.hint = "correct the name";
  EXPECT_THAT(MakeSshReach(NodeAt("gpu1"), {}, address, kUser).other_addresses(),
              ElementsAre("10.1.0.5", "fd00::5"));
  EXPECT_EQ(MakeSshReach(NodeAt("gpu1"), {}, address, kUser).error_hint(), "");
  address.ssh = "";
  address.no_ssh = "name does not resolve";
  const v1::SshReach ssh = MakeSshReach(NodeAt("gpu1"), {}, address, kUser);
  EXPECT_EQ(ssh.error(), "name does not resolve");
  EXPECT_EQ(ssh.error_hint(), "correct the name");
}

const std::multimap<std::string, std::string> kConfigured = {
    {"hostname", "10.0.0.5"},
    {"user", "ann"},
    {"port", "2200"},
    {"identityfile", "~/keys/100%h"},
    {"identityfile", "relative"},
    {"certificatefile", "~/cert"},
    {"identitiesonly", "yes"},
    {"identityagent", "~/agent"},
    {"hostkeyalias", "the-host"},
    {"stricthostkeychecking", "accept-new"},
    {"hashknownhosts", "yes"},
    {"userknownhostsfile", "~/known /other"},
    {"globalknownhostsfile", "/etc/known"},
    {"connecttimeout", "3"},
};

TEST(SshReachTest, OpensshsConfigurationIsApplied) {
  const v1::SshReach ssh =
      MakeSshReach(NodeAt("gpu1"), {}, {"10.0.0.5", "10.0.0.5", "", kConfigured}, kUser);
  EXPECT_EQ(ssh.host_key_name(), "the-host");
  EXPECT_EQ(ssh.configured_host_name(), "10.0.0.5");
  EXPECT_EQ(ssh.port(), 2200u);
  EXPECT_EQ(ssh.username(), "ann");
  EXPECT_THAT(ssh.key_files(), ElementsAre("/home/me/keys/100%h", "/work/relative"));
  EXPECT_THAT(ssh.certificate_files(), ElementsAre("/home/me/cert"));
  EXPECT_TRUE(ssh.identities_only());
  EXPECT_EQ(ssh.agent_socket(), "/home/me/agent");
  EXPECT_EQ(ssh.host_key_check(), v1::HOST_KEY_CHECK_ACCEPT_NEW);
  EXPECT_TRUE(ssh.hash_known_hosts());
  EXPECT_THAT(ssh.known_hosts_files(), ElementsAre("/home/me/known", "/other", "/etc/known"));
  EXPECT_EQ(ssh.connect_limit_ms(), 3000u);
}

TEST(SshReachTest, TheSpecHasPriority) {
  spec::SshGroup group;
  group.key_file = "~/100%.pem";
  group.username = "bob";
  group.port = 2222;
  group.host_key_check = v1::HOST_KEY_CHECK_STRICT;
  spec::Node node = NodeAt("gpu1");
  const NodeAddress address{"10.0.0.5", "10.0.0.5", "", kConfigured};
  EXPECT_EQ(MakeSshReach(node, group, address, kUser).port(), 2222u);
  node.port = 2201;
  const v1::SshReach ssh = MakeSshReach(node, group, address, kUser);
  EXPECT_EQ(ssh.port(), 2201u);
  EXPECT_EQ(ssh.username(), "bob");
  EXPECT_THAT(ssh.key_files(), ElementsAre("/home/me/100%.pem"));
  EXPECT_TRUE(ssh.key_file_required());
  EXPECT_EQ(ssh.host_key_check(), v1::HOST_KEY_CHECK_STRICT);
}

TEST(SshReachTest, RoutesThroughOtherMachinesUseSsh) {
  const NodeAddress plain{"10.0.0.5", "10.0.0.5", "", {}};
  spec::SshGroup group;
  group.proxy_jump = "ops@bastion";
  EXPECT_TRUE(MakeSshReach(NodeAt("a"), group, plain, kUser).by_ssh_program());
  for (const char* keyword : {"proxyjump", "proxycommand"}) {
    const NodeAddress jump{"", "10.0.0.5", "", {{keyword, "bastion"}}};
    EXPECT_TRUE(MakeSshReach(NodeAt("a"), {}, jump, kUser).by_ssh_program());
    group.proxy_jump = "none";
    EXPECT_FALSE(MakeSshReach(NodeAt("a"), group, jump, kUser).by_ssh_program());
    const NodeAddress none{"", "10.0.0.5", "", {{keyword, "none"}}};
    EXPECT_FALSE(MakeSshReach(NodeAt("a"), {}, none, kUser).by_ssh_program());
  }
}

TEST(SshReachTest, FeaturesThatOurLoginsLackUseSsh) {
  NodeAddress address{"10.0.0.5", "10.0.0.5", "", {}};
  address.left_to_ssh = {"BindAddress 10.0.0.1"};
  EXPECT_TRUE(MakeSshReach(NodeAt("a"), {}, address, kUser).by_ssh_program());
  spec::SshGroup group;
  group.proxy_jump = "none";
  EXPECT_TRUE(MakeSshReach(NodeAt("a"), group, address, kUser).by_ssh_program());
}

TEST(SshReachTest, NoneIsNotAFile) {
  const NodeAddress address{"10.0.0.5",
                            "10.0.0.5",
                            "",
                            {{"identityfile", "none"},
                             {"certificatefile", "none"},
                             {"userknownhostsfile", "none"},
                             {"globalknownhostsfile", "/etc/known"}}};
  const v1::SshReach ssh = MakeSshReach(NodeAt("a"), {}, address, kUser);
  EXPECT_EQ(ssh.key_files_size() + ssh.certificate_files_size(), 0);
  // A new key is not written to any file of the system.
  EXPECT_THAT(ssh.known_hosts_files(), ElementsAre("/dev/null", "/etc/known"));
}

}  // namespace
}  // namespace autodist::plan
