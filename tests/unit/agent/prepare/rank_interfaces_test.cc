#include "agent/prepare/rank_interfaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::agent {
namespace {

using testing::HasSubstr;

base::Interface With(const char* interface, const char* address) {
  return {interface, *base::IpAddress::Parse(address)};
}

// A node with its address on lo, and eth0 as the route to others.
const std::vector<base::Interface> kRouting = {With("lo", "127.0.0.1"), With("lo", "10.99.0.1"),
                                               With("eth0", "10.77.0.1"), With("ib0", "10.88.0.1")};

v1::NodePlan Node(const std::vector<std::string>& peers, const std::string& interface = "") {
  v1::NodePlan node;
  node.set_interface(interface);
  for (const std::string& peer : peers) node.add_peers(peer);
  return node;
}

RankInterface Choose(const v1::NodePlan& node, const std::string& address, const std::string& way,
                     const std::vector<base::Interface>& interfaces = kRouting) {
  return ChooseRankInterface(node, address, interfaces,
                             [&](const base::IpAddress&) { return way; });
}

TEST(RankInterfacesTest, PrefersTheSpecsInterfaceThenTheOneOfTheAddress) {
  EXPECT_EQ(Choose(Node({"10.77.0.2"}, "ib7"), "10.77.0.1", "eth0").name, "ib7");
  EXPECT_EQ(Choose(Node({"10.77.0.2"}), "10.88.0.1", "eth0").name, "ib0");
  const RankInterface none = Choose(Node({}), "10.1.1.1", "eth0");
  EXPECT_EQ(none.name, "");
  EXPECT_THAT(none.warning, HasSubstr("no interface of this node has the address 10.1.1.1"));
}

TEST(RankInterfacesTest, NeverUsesLoopbackToOtherNodes) {
  EXPECT_EQ(Choose(Node({}), "127.0.0.1", "").name, "lo");  // the only node
  EXPECT_EQ(Choose(Node({"10.99.0.2"}), "10.99.0.1", "eth0").name, "eth0");
  for (const char* way : {"", "lo", "eth7"}) {  // eth7 has no address
    const RankInterface none = Choose(Node({"10.99.0.2"}), "10.99.0.1", way);
    EXPECT_EQ(none.name, "") << way;
    EXPECT_THAT(none.warning, HasSubstr("10.99.0.1 is on lo")) << way;
    EXPECT_THAT(none.warning, HasSubstr("set `interface`")) << way;
  }
  EXPECT_EQ(Choose(Node({"10.99.0.1"}), "10.99.0.1", "eth0").name, "");  // itself
  v1::NodePlan asked = Node({});
  asked.set_ask_data_address(true);
  EXPECT_EQ(Choose(asked, "10.99.0.1", "eth0").name, "eth0");
}

TEST(RankInterfacesTest, TheKernelDeterminesTheRoute) {
  EXPECT_EQ(InterfaceTowards(*base::IpAddress::Parse("127.0.0.9")), "lo");
  EXPECT_EQ(InterfaceTowards(*base::IpAddress::Parse("::1")), "lo");
  EXPECT_GT(MtuOf("lo"), 1000u);
  EXPECT_EQ(MtuOf("nothing0"), 0u);
  EXPECT_EQ(MtuOf("a-name-that-no-interface-can-have"), 0u);
}

TEST(RankInterfacesTest, GlooAndNcclInterpretTheirVariables) {
  const auto chosen = [](const char* variable, const std::string& value) -> std::string {
    process::Environment environment;
    environment.Set(variable, value);
    const auto networks = RankNetworksOf(environment, kRouting);
    if (networks.size() != 1) return "?";
    EXPECT_EQ(networks[0].variable(), variable);
    EXPECT_EQ(networks[0].value(), value);
    return networks[0].interface() + " " + networks[0].address();
  };
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth0"), "eth0 10.77.0.1");
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "lo"), "lo 127.0.0.1");
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth9,ib0"), "ib0 10.88.0.1");
  EXPECT_EQ(chosen("GLOO_SOCKET_IFNAME", "eth"), " ");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "eth"), "eth0 10.77.0.1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "=eth"), " ");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "=ib0:5000"), "ib0 10.88.0.1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "^lo,docker"), "eth0 10.77.0.1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "^docker0"), "lo 127.0.0.1");
  EXPECT_EQ(chosen("NCCL_SOCKET_IFNAME", "^=lo,eth0"), "ib0 10.88.0.1");
  EXPECT_TRUE(RankNetworksOf(process::Environment(), kRouting).empty());
}

}  // namespace
}  // namespace autodist::agent
