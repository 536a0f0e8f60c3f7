#include "reach/resolve.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reach/host_facts.h"
#include "support/temp_folder.h"

namespace autodist::reach {
namespace {

TEST(LocateTest, RecognizesThisMachine) {
  std::array<char, 256> name{};
  ASSERT_EQ(gethostname(name.data(), name.size() - 1), 0);
  const auto found = Locate({"localhost", "127.0.0.1", "::1", name.data(), "203.0.113.77"});
  ASSERT_TRUE(found.ok()) << found.status();
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE((*found)[i].here) << i;
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE((*found)[i].only_loopback) << i;
  EXPECT_FALSE((*found)[4].here);
  EXPECT_FALSE((*found)[4].only_loopback);
}

TEST(LocateTest, AnUnresolvableNameIsASeparateIssue) {
  const auto found = Locate({"a.b.c.invalid", "127.0.0.1"});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE((*found)[0].here);
  EXPECT_TRUE((*found)[1].here);
}

TEST(LocateTest, TheOutwardAddressIsOneOfOursAndNotLoopback) {
  const auto address = OutwardAddress();
  if (!address.ok()) GTEST_SKIP() << "no network";
  const auto found = Locate({*address});
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE((*found)[0].here);
  EXPECT_FALSE((*found)[0].only_loopback);
}

bool IsHere(const std::string& host, std::optional<uint16_t> port) {
  std::vector<spec::HostEntry> hosts(1);
  hosts[0].host = host;
  hosts[0].port = port;
  const auto facts =
      FactsOf(hosts, {}, {"ann", "/nowhere", "/", ""}, AskHosts::kNo, SameMachines::kRefuse, {});
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts.ok() && facts->front().here;
}

TEST(FactsOfTest, AnotherPortOfALoopbackAddressIsAnotherMachine) {
  EXPECT_TRUE(IsHere("localhost", std::nullopt));
  EXPECT_TRUE(IsHere("127.0.0.1", 22));
  EXPECT_FALSE(IsHere("127.0.0.1", 2222));
  EXPECT_FALSE(IsHere("::1", 2222));
}

TEST(FactsOfTest, ThePortOfAllHostsIsThatOfThisMachineToo) {
  if (!OutwardAddress().ok()) GTEST_SKIP() << "no network";
  std::vector<spec::HostEntry> hosts(2);
  hosts[0].host = "localhost";
  hosts[1].host = "203.0.113.77";
  spec::SshGroup login;
  login.port = 2222;
  const auto facts =
      FactsOf(hosts, login, {"ann", "/nowhere", "/", ""}, AskHosts::kNo, SameMachines::kRefuse, {});
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_TRUE(facts->front().here);
}

TEST(SettleChiefTest, ThePortOfAGroupIsThatOfThisMachineTooAmongSeveralNodes) {
  for (const size_t nodes : {size_t{1}, size_t{2}}) {
    plan::Input input;
    input.user.home = "/nowhere";
    input.spec.ssh["workers"].port = 2222;
    input.spec.nodes.resize(nodes);
    for (size_t i = 0; i < nodes; ++i) {
      input.spec.nodes[i].address = i == 0 ? "127.0.0.1" : "203.0.113.77";
      input.spec.nodes[i].ssh_config = "workers";
      input.address_of[input.spec.nodes[i].address].ssh = input.spec.nodes[i].address;
    }
    EXPECT_EQ(SettleChief(input).ok(), nodes == 1);
    EXPECT_FALSE(input.spec.nodes[0].chief);
  }
}

TEST(SettleChiefTest, TheChiefKeepsTheEnvironmentOfTheGroup) {
  plan::Input input;
  input.user.home = "/nowhere";
  input.spec.ssh["lab"].python_venv = "venv";
  input.spec.ssh["lab"].shared_envs = {{"A", "group"}, {"B", "group"}};
  spec::Node& node = input.spec.nodes.emplace_back();
  node.address = "localhost";
  node.ssh_config = "lab";
  node.shared_envs = {{"B", "node"}};
  input.address_of["localhost"].ssh = "127.0.0.1";
  EXPECT_EQ(SettleChief(input), OkStatus());
  EXPECT_TRUE(input.spec.nodes[0].chief);
  EXPECT_EQ(input.spec.nodes[0].python_venv, "venv");
  EXPECT_EQ(input.spec.nodes[0].shared_envs, (spec::SharedEnvs{{"A", "group"}, {"B", "node"}}));
}

TEST(SettleChiefTest, AnotherPortOfALoopbackAddressIsAnotherMachine) {
  for (const uint16_t port : {uint16_t{22}, uint16_t{2222}}) {
    plan::Input input;
    input.user.home = "/nowhere";
    spec::Node node;
    node.address = "127.0.0.1";
    node.port = port;
    node.ssh_config = "workers";
    input.spec.ssh.emplace("workers", spec::SshGroup());
    input.spec.nodes.push_back(node);
    input.address_of["127.0.0.1"].ssh = "127.0.0.1";
    const Status settled = SettleChief(input);
    EXPECT_EQ(settled, OkStatus());
    EXPECT_EQ(input.spec.nodes[0].chief, port == 22);
  }
}

// With a stand-in for ssh, which would read the user's own configuration.
class AliasTest : public testing::Test {
 protected:
  AliasTest() {
    std::filesystem::create_directories(folder_.path() + "/.ssh");
    folder_.Write(".ssh/config", "Host me\n  HostName 127.0.0.1\n");
    chmod(folder_.Write("ssh", "#!/bin/sh\necho hostname 127.0.0.1\necho port 2222\n").c_str(),
          0755);
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  ~AliasTest() override { setenv("PATH", path_.c_str(), 1); }

  const test::TempFolder folder_;
  const plan::User user_{"ann", folder_.path(), "/", ""};
  const std::string path_ = getenv("PATH");
};

TEST_F(AliasTest, TheChiefsNameMayBeOneOfOpensshsConfigurationAlone) {
  spec::ResourceSpec spec;
  spec.nodes.emplace_back().address = "me.invalid";
  spec.nodes[0].chief = true;
  const auto found = FindNodes(spec, user_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("me.invalid").data, "127.0.0.1");
}

TEST_F(AliasTest, ANodeBehindAForwardedPortReportsItsAddress) {
  spec::ResourceSpec spec;
  spec.ssh.emplace("workers", spec::SshGroup());
  spec.nodes.resize(2);
  spec.nodes[0].address = "192.0.2.1";
  spec.nodes[0].chief = true;
  spec.nodes[1].address = "vm.invalid";
  spec.nodes[1].ssh_config = "workers";
  const auto found = FindNodes(spec, user_);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->at("vm.invalid").error, "");
  EXPECT_EQ(found->at("vm.invalid").ssh, "127.0.0.1");
  EXPECT_TRUE(found->at("vm.invalid").ask);
}

TEST(CheckChiefIsHereTest, AWrongDataAddressOfThisMachine) {
  v1::LaunchPlan plan;
  v1::NodePlan& chief = *plan.add_nodes();
  chief.set_address("localhost");
  chief.set_data_address("203.0.113.77");
  chief.mutable_reach()->mutable_local();
  EXPECT_NE(Remedy(CheckChiefIsHere(plan)).find("run autodist on localhost"), std::string::npos);
  chief.set_own_data_address(true);
  const Status wrong = CheckChiefIsHere(plan);
  EXPECT_NE(Message(wrong).find("203.0.113.77, the data_address of localhost"), std::string::npos);
  EXPECT_EQ(Remedy(wrong), "correct or remove data_address of this node in the spec");
  chief.set_address("203.0.113.77");
  EXPECT_NE(Message(CheckChiefIsHere(plan)).find("but this machine is"), std::string::npos);
}

TEST(InOrderTest, Ipv4ComesFirstAndLoopbackOnlyAlone) {
  const auto ordered = [](const std::vector<std::string>& texts) {
    std::vector<base::IpAddress> addresses;
    for (const std::string& text : texts) addresses.push_back(*base::IpAddress::Parse(text));
    return InOrder(addresses);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(ordered({"fd00::2", "10.0.0.2", "10.1.0.2"}),
            (Texts{"10.0.0.2", "10.1.0.2", "fd00::2"}));
  EXPECT_EQ(ordered({"127.0.1.1", "10.0.0.2", "10.0.0.2"}), (Texts{"10.0.0.2"}));
  EXPECT_EQ(ordered({"::1", "127.0.0.1"}), (Texts{"127.0.0.1", "::1"}));
  EXPECT_EQ(ordered({}), Texts());
}

}  // namespace
}  // namespace autodist::reach
