#include "agent/prepare/data_address.h"

#include <gtest/gtest.h>

namespace autodist::agent {
namespace {

base::Interface At(const char* interface, const char* address) {
  return {interface, *base::IpAddress::Parse(address)};
}

const std::vector<base::Interface> kInterfaces = {
    At("lo", "127.0.0.1"),     At("lo", "::1"),          At("eth0", "fe80::1"),
    At("eth0", "fd00::7"),     At("eth0", "172.16.0.7"), At("ib0", "10.1.0.7"),
    At("docker0", "10.2.0.1"),
};

TEST(DataAddressTest, TheInterfaceOfTheSpecIsPreferred) {
  EXPECT_EQ(ChooseDataAddress({"ib0", "172.16.0.7", "10.0.0.9 5 172.16.0.7 22", {}}, kInterfaces),
            "10.1.0.7");
  EXPECT_EQ(ChooseDataAddress({"eth0", "", "", {}}, kInterfaces), "172.16.0.7");  // IPv4 first
  EXPECT_EQ(ChooseDataAddress({"eth9", "10.1.0.7", "", {}}, kInterfaces), "10.1.0.7");
}

TEST(DataAddressTest, ThenTheAddressThatTheChiefConnectsToIfTheNodeHasIt) {
  EXPECT_EQ(ChooseDataAddress({"", "10.1.0.7", "10.0.0.9 5 172.16.0.7 22", {}}, kInterfaces),
            "10.1.0.7");
  // A forwarded address does not count.
  EXPECT_EQ(ChooseDataAddress({"", "203.0.113.5", "10.0.0.9 5 172.16.0.7 22", {}}, kInterfaces),
            "172.16.0.7");
  EXPECT_EQ(ChooseDataAddress({"", "0.0.0.0", "fd00::1 5 fd00::7 22", {}}, kInterfaces), "fd00::7");
}

TEST(DataAddressTest, ThenTheDefaultRoute) {
  EXPECT_EQ(ChooseDataAddress({"", "", "127.0.0.1 5 127.0.0.1 22", {"172.16.0.7"}}, kInterfaces),
            "172.16.0.7");
  EXPECT_EQ(
      ChooseDataAddress({"", "", "fe80::9%eth0 5 fe80::1%eth0 22", {"10.1.0.7"}}, kInterfaces),
      "10.1.0.7");
  EXPECT_EQ(ChooseDataAddress({"", "", "garbage", {"192.0.2.3", "10.1.0.7"}}, kInterfaces),
            "10.1.0.7");
  EXPECT_EQ(ChooseDataAddress({}, kInterfaces), "172.16.0.7");
  EXPECT_EQ(ChooseDataAddress({}, {kInterfaces[0], kInterfaces[2]}), "127.0.0.1");
}

}  // namespace
}  // namespace autodist::agent
