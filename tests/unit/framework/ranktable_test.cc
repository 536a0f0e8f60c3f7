#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/example_plan.h"

namespace autodist::framework {
namespace {

using nlohmann::json;
using test::ValueOf;
using testing::HasSubstr;

constexpr char kIps[] =
    "[192.168.100.101, 192.168.101.101, 192.168.102.101, 192.168.103.101, "
    "192.168.100.100, 192.168.101.100, 192.168.102.100, 192.168.103.100]";
constexpr char kSecondIps[] =
    "[192.168.100.111, 192.168.101.111, 192.168.102.111, 192.168.103.111, "
    "192.168.100.110, 192.168.101.110, 192.168.102.110, 192.168.103.110]";

std::string OneNode(const std::string& gpus, const std::string& ips) {
  return "nodes: [{address: 127.0.0.1, gpus: " + gpus + ", device_ips: " + ips + "}]";
}

Result<v1::LaunchPlan> PlanOf(const std::string& spec) {
  return plan::MakePlan(test::InputFor(spec, {"ranktable"}));
}

json Table(const v1::NodePlan& node) { return json::parse(node.files(0).content()); }

json Device(const char* device, const char* ip, const char* rank) {
  return {{"device_id", device}, {"device_ip", ip}, {"rank_id", rank}};
}

json Server(const char* id, json devices) {
  return {{"server_id", id}, {"device", std::move(devices)}, {"host_nic_ip", "reserve"}};
}

json WholeTable(const char* count, json servers) {
  return {{"version", "1.0"},
          {"server_count", count},
          {"server_list", std::move(servers)},
          {"status", "completed"}};
}

// The two tables of MindOCR's documentation.
TEST(RankTableTest, EightDevices) {
  const auto plan = PlanOf(OneNode("[0, 1, 2, 3, 4, 5, 6, 7]", kIps));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      Table(plan->nodes(0)),
      WholeTable(
          "1", json::array({Server(
                   "127.0.0.1",
                   {Device("0", "192.168.100.101", "0"), Device("1", "192.168.101.101", "1"),
                    Device("2", "192.168.102.101", "2"), Device("3", "192.168.103.101", "3"),
                    Device("4", "192.168.100.100", "4"), Device("5", "192.168.101.100", "5"),
                    Device("6", "192.168.102.100", "6"), Device("7", "192.168.103.100", "7")})})));
  EXPECT_EQ(plan->nodes(0).files(0).name(), "hccl_8p_01234567_127.0.0.1.json");
  const v1::SetVariable& variable = plan->nodes(0).environment().rbegin()->set();
  EXPECT_EQ(variable.name(), "RANK_TABLE_FILE");
  EXPECT_EQ(variable.on_node(), "{files}/hccl_8p_01234567_127.0.0.1.json");
}

TEST(RankTableTest, FourDevices) {
  const auto plan = PlanOf(OneNode(
      "[4, 5, 6, 7]", "[192.168.100.100, 192.168.101.100, 192.168.102.100, 192.168.103.100]"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(
      Table(plan->nodes(0)),
      WholeTable("1", json::array({Server("127.0.0.1", {Device("4", "192.168.100.100", "0"),
                                                        Device("5", "192.168.101.100", "1"),
                                                        Device("6", "192.168.102.100", "2"),
                                                        Device("7", "192.168.103.100", "3")})})));
  EXPECT_EQ(plan->nodes(0).files(0).name(), "hccl_4p_4567_127.0.0.1.json");
  const v1::LaunchPlan whole = test::Whole(*plan);
  const v1::RankPlan& rank = whole.nodes(0).ranks(1);
  EXPECT_EQ(ValueOf(rank, "DEVICE_ID"), "5");
  EXPECT_EQ(ValueOf(rank, "RANK_ID"), "1");
  EXPECT_EQ(ValueOf(rank, "RANK_SIZE"), "4");
  EXPECT_EQ(ValueOf(rank, "MS_ROLE"), "(unset)");
}

TEST(RankTableTest, TwoServersAreMerged) {
  const auto plan = PlanOf(
      std::string("nodes:\n  - {address: 10.0.0.2, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: ") +
      kSecondIps +
      ", ssh_config: a}\n  - {address: 10.0.0.1, gpus: [0, 1, 2, 3, 4, 5, 6, 7], device_ips: " +
      kIps + ", chief: true}\nssh: {a: {}}\n");
  ASSERT_TRUE(plan.ok()) << plan.status();
  const json table = Table(plan->nodes(0));
  EXPECT_EQ(table, Table(plan->nodes(1)));
  EXPECT_EQ(table["server_count"], "2");
  EXPECT_EQ(table["server_list"][0]["server_id"], "10.0.0.1");
  EXPECT_EQ(table["server_list"][1]["server_id"], "10.0.0.2");
  EXPECT_EQ(table["server_list"][0]["device"][7], Device("7", "192.168.103.100", "7"));
  EXPECT_EQ(table["server_list"][1]["device"][0], Device("0", "192.168.100.111", "8"));
  EXPECT_EQ(table["server_list"][1]["device"][7], Device("7", "192.168.103.110", "15"));
  EXPECT_EQ(plan->nodes(1).files(0).name(), "hccl_2s_16p.json");
  EXPECT_EQ(ValueOf(plan->nodes(1).ranks(7), "RANK_ID"), "15");
  EXPECT_EQ(ValueOf(plan->nodes(1).ranks(7), "DEVICE_ID"), "7");
}

struct Refused {
  std::string spec;
  std::string why;
};

class RefusedDevicesTest : public testing::TestWithParam<Refused> {};

TEST_P(RefusedDevicesTest, SaysWhy) {
  const auto plan = PlanOf(GetParam().spec);
  EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(plan.status()), HasSubstr(GetParam().why));
}

constexpr char kTwoIps[] = "[192.168.100.101, 192.168.101.101]";
constexpr char kFourIps[] = "[192.168.100.101, 192.168.101.101, 192.168.102.101, 192.168.103.101]";

INSTANTIATE_TEST_SUITE_P(
    Sets, RefusedDevicesTest,
    testing::Values(
        Refused{OneNode("[0, 4]", kTwoIps), "0 to 3 are on one network and 4 to 7 on another"},
        Refused{OneNode("[2, 3, 4, 5]", kFourIps), "take them from one"},
        Refused{OneNode("[0, 1, 2]", "[192.168.100.101, 192.168.101.101, 192.168.102.101]"),
                "1, 2, 4 or 8 can be used together"},
        Refused{OneNode("[0, 8]", kTwoIps), "they are numbered from 0 to 7"},
        Refused{"nodes: [{address: 127.0.0.1}]", "has no devices"},
        Refused{"nodes: [{address: 127.0.0.1, gpus: [1, 2]}]",
                "does not report the IP address of device 1"},
        Refused{std::string("nodes: [{address: 10.0.0.1, gpus: [0, 1], device_ips: ") + kTwoIps +
                    ", chief: true}, {address: 10.0.0.2, gpus: [0, 1], ssh_config: a, "
                    "device_ips: " +
                    kTwoIps + "}]\nssh: {a: {}}",
                "of several nodes, all 8 are needed\n10.0.0.2 has the devices 0, 1;"}));

TEST(RankTableTest, AnUnknownAddressCanBeGiven) {
  EXPECT_EQ(Remedy(PlanOf("nodes: [{address: 127.0.0.1, gpus: [1, 2]}]").status()),
            "give the addresses of the node's devices as device_ips in the spec");
  EXPECT_EQ(Remedy(PlanOf(OneNode("[0, 4]", kTwoIps)).status()), "");
}

TEST(RankTableTest, TwoNeighboursSuffice) {
  EXPECT_TRUE(PlanOf(OneNode("[1, 2]", kTwoIps)).ok());
  EXPECT_TRUE(PlanOf(OneNode("[6]", "[192.168.100.101]")).ok());
}

}  // namespace
}  // namespace autodist::framework
