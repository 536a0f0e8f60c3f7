#include "agent/sample/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::ElementsAre;

constexpr char kHeadings[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop "
    "fifo colls carrier compressed\n";
constexpr char kDev[] =
    "    lo:    3267      29    0    0    0     0          0         0     3267      29    0    0  "
    "  0     0       0          0\n"
    "  eth0: 578289331   16227    3    4    0     1          0         0   876183   11384    5    "
    "6 "
    "   0     0       0          0\n"
    "docker0:1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n";

TEST(InterfacesTest, CountsBothDirections) {
  const std::string dev = std::string(kHeadings) + kDev;
  const std::vector<InterfaceCounts> all = ParseInterfaces(dev);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "eth0");
  EXPECT_EQ(all[0].received, 578289331u);
  EXPECT_EQ(all[0].sent, 876183u);
  EXPECT_EQ(all[0].errors, 8u);
  EXPECT_EQ(all[0].dropped, 10u);
  EXPECT_EQ(all[1].name, "docker0");  // without a blank before a long number
  EXPECT_EQ(all[1].received, 1000u);
  EXPECT_EQ(all[1].sent, 2000u);
  EXPECT_TRUE(ParseInterfaces(kHeadings).empty());
  EXPECT_TRUE(ParseInterfaces("").empty());
}

class InterfaceReaderTest : public testing::Test {
 protected:
  InterfaceReaderTest() {
    std::filesystem::create_directories(folder_.path() + "/net");
    folder_.Write("net/dev", std::string(kHeadings) + kDev);
  }
  void Interface(const std::string& name, const std::string& state, bool card = false,
                 const std::string& speed = "-1") {
    const std::string path = "class/net/" + name;
    std::filesystem::create_directories(folder_.path() + "/" + path + (card ? "/device" : ""));
    folder_.Write(path + "/operstate", state + "\n");
    folder_.Write(path + "/speed", speed + "\n");
  }
  v1::NodeSample Read(int second) {
    v1::NodeSample sample;
    reader_.Read(start_ + std::chrono::seconds(second), sample);
    return sample;
  }
  std::vector<std::string> Names(int second) {
    std::vector<std::string> names;
    const v1::NodeSample sample = Read(second);
    for (const auto& interface : sample.interfaces()) names.push_back(interface.name());
    return names;
  }

  const test::TempFolder folder_;
  InterfaceReader reader_{folder_.path(), folder_.path()};
  const SampleTime start_ = SampleTime::clock::now();
};

TEST_F(InterfaceReaderTest, ACardIsReportedWithoutItsVirtualInterfaces) {
  Interface("eth0", "up", true, "25000");
  Interface("docker0", "up");
  v1::NodeSample sample = Read(0);
  ASSERT_EQ(sample.interfaces_size(), 1);
  EXPECT_EQ(sample.interfaces(0).name(), "eth0");
  EXPECT_EQ(sample.interfaces(0).speed(), 25'000'000'000u);
  EXPECT_EQ(sample.interfaces(0).errors(), 8u);
  EXPECT_FALSE(sample.interfaces(0).has_received());
  folder_.Write("net/dev", "eth0: 578290331 1 3 4 0 1 0 0 876383 1 5 6 0 0 0 0\n");
  sample = Read(2);
  EXPECT_DOUBLE_EQ(sample.interfaces(0).received(), 500);
  EXPECT_DOUBLE_EQ(sample.interfaces(0).sent(), 100);
}

TEST_F(InterfaceReaderTest, WithoutACardAllActiveInterfacesAreReported) {
  Interface("eth0", "down", true, "25000");
  Interface("docker0", "unknown");
  const v1::NodeSample sample = Read(0);
  ASSERT_EQ(sample.interfaces_size(), 1);
  EXPECT_EQ(sample.interfaces(0).name(), "docker0");
  EXPECT_FALSE(sample.interfaces(0).has_speed());
}

TEST_F(InterfaceReaderTest, AnInterfaceThatGoesDownIsNoticedLaterAndANewOneAtOnce) {
  Interface("eth0", "up");
  Interface("docker0", "down");
  EXPECT_THAT(Names(0), ElementsAre("eth0"));
  Interface("eth0", "down");
  Interface("eth1", "up");
  folder_.Write("net/dev", std::string(kDev) + "eth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
  EXPECT_THAT(Names(1), ElementsAre("eth0", "eth1"));
  for (int second = 2; second < 40; ++second) Read(second);
  EXPECT_THAT(Names(40), ElementsAre("eth1"));
}

}  // namespace
}  // namespace autodist::agent
