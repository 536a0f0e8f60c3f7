#include "reach/config_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::reach {
namespace {

using testing::ElementsAre;

ConfiguredHost Host(const std::string& address,
                    const std::multimap<std::string, std::string>& openssh) {
  return {address, openssh};
}

TEST(ConfigHostsTest, CodeHostsAreNotMachinesForRanks) {
  EXPECT_EQ(WhyCodeHost("git.lab", Host("", {{"user", "git"}})), "it has User git");
  EXPECT_EQ(WhyCodeHost("gh", Host("", {{"user", "ann"}, {"hostname", "github.com"}})),
            "its HostName is github.com");
  EXPECT_NE(WhyCodeHost("work", Host("", {{"hostname", "gitlab.corp.example"}})), "");
  EXPECT_NE(WhyCodeHost("aws", Host("", {{"hostname", "git-codecommit.us-east-1.amazonaws.com"}})),
            "");
  EXPECT_EQ(WhyCodeHost("gpu1", Host("", {{"user", "ann"}, {"hostname", "10.0.0.1"}})), "");
  EXPECT_EQ(WhyCodeHost("digit7", Host("", {{"user", "digit"}})), "");
}

TEST(ConfigHostsTest, TheAddressOfTheConnectionIdentifiesTheMachine) {
  const ConfiguredHost plain = Host("10.0.0.2", {{"port", "22"}, {"user", "ann"}});
  EXPECT_EQ(MachineOf("a", plain), MachineOf("b", Host("10.0.0.2", {{"port", "22"}})));
  EXPECT_NE(MachineOf("a", plain), MachineOf("b", Host("10.0.0.2", {{"port", "2222"}})));
  // The same private address behind two gateways means two machines.
  const auto behind = [](const std::string& gate) {
    return Host("10.0.0.2", {{"port", "22"}, {"proxyjump", gate}});
  };
  EXPECT_EQ(MachineOf("a", behind("g")), MachineOf("b", behind("g")));
  EXPECT_NE(MachineOf("a", behind("g")), MachineOf("b", behind("h")));
  EXPECT_NE(MachineOf("a", behind("g")), MachineOf("a", plain));
  const ConfiguredHost by_name = Host("x", {{"port", "22"}, {"proxycommand", "corp-ssh %n"}});
  EXPECT_NE(MachineOf("a", by_name), MachineOf("b", by_name));
}

TEST(ConfigHostsTest, MachinesIdentifyThemselves) {
  std::vector<spec::HostEntry> hosts(6);
  std::vector<spec::HostFacts> facts(6);
  for (size_t i = 0; i < hosts.size(); ++i) hosts[i].host = "h" + std::to_string(i);
  hosts[2].also = {"h2.lab"};
  facts[0].here = facts[3].here = true;
  facts[1].machine = facts[2].machine = "gpu/boot";
  MergeSameMachines(hosts, facts);
  ASSERT_EQ(facts.size(), hosts.size());
  std::vector<std::string> names;
  for (const spec::HostEntry& host : hosts) names.push_back(host.host);
  EXPECT_THAT(names, ElementsAre("h0", "h1", "h4", "h5"));  // the last two have not answered
  EXPECT_THAT(hosts[0].also, ElementsAre("h3"));
  EXPECT_THAT(hosts[1].also, ElementsAre("h2", "h2.lab"));
  EXPECT_EQ(facts[1].machine, "gpu/boot");
}

}  // namespace
}  // namespace autodist::reach
