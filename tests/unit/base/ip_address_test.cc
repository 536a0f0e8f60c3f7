#include "base/ip_address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace autodist::base {
namespace {

TEST(IpAddressTest, ParsesBothFamilies) {
  EXPECT_EQ(IpAddress::Parse("10.0.0.1")->ToString(), "10.0.0.1");
  EXPECT_EQ(IpAddress::Parse("FE80::0:1")->ToString(), "fe80::1");
  EXPECT_EQ(IpAddress::Parse("fe80::1%eth0")->ToString(), "fe80::1%eth0");
  for (const char* no : {"", "10.0.0", "10.0.0.1:22", "host", "1.2.3.256", ":::"}) {
    EXPECT_FALSE(IpAddress::Parse(no)) << no;
  }
}

TEST(IpAddressTest, SpellingsOfAnAddressAreEqual) {
  EXPECT_EQ(*IpAddress::Parse("::1"), *IpAddress::Parse("0:0:0:0:0:0:0:1"));
  EXPECT_NE(*IpAddress::Parse("10.0.0.1"), *IpAddress::Parse("10.0.0.2"));
}

TEST(IpAddressTest, RecognizesLoopback) {
  EXPECT_TRUE(IpAddress::Parse("127.9.9.9")->IsLoopback());
  EXPECT_TRUE(IpAddress::Parse("::1")->IsLoopback());
  EXPECT_FALSE(IpAddress::Parse("128.0.0.1")->IsLoopback());
}

TEST(IpAddressTest, KeepsScopes) {
  const IpAddress eth0 = *IpAddress::Parse("fe80::1%eth0");
  EXPECT_EQ(eth0.scope, "eth0");
  EXPECT_EQ(eth0, *IpAddress::Parse("FE80:0::1%eth0"));
  EXPECT_NE(eth0, *IpAddress::Parse("fe80::1%eth1"));
  EXPECT_NE(eth0, *IpAddress::Parse("fe80::1"));
  for (const char* no : {"fe80::1%", "fe80::1%a b", "fe80::1%a%b", "fe80::1%a/b", "10.0.0.1%eth0",
                         "fe80::1%an-interface-name"}) {
    EXPECT_FALSE(IpAddress::Parse(no)) << no;
  }
}

TEST(IpAddressTest, AnIpv4MappedAddressIsTheIpv4Address) {
  EXPECT_EQ(*IpAddress::Parse("::ffff:10.0.0.1"), *IpAddress::Parse("10.0.0.1"));
  EXPECT_TRUE(IpAddress::Parse("::ffff:127.0.0.1")->IsLoopback());
}

TEST(IpAddressTest, AZeroByteIsRefused) {
  EXPECT_FALSE(IpAddress::Parse(std::string("10.0.0.1\0x", 10)));
  EXPECT_FALSE(IpAddress::Parse(std::string("fd00::1\0x", 9)));
}

TEST(IpAddressTest, RecognizesAddressesOfNoSingleMachine) {
  EXPECT_TRUE(IpAddress::Parse("0.0.0.0")->IsUnspecified());
  EXPECT_TRUE(IpAddress::Parse("::")->IsUnspecified());
  EXPECT_FALSE(IpAddress::Parse("::1")->IsUnspecified());
  EXPECT_TRUE(IpAddress::Parse("224.0.0.1")->IsMulticast());
  EXPECT_TRUE(IpAddress::Parse("239.255.255.255")->IsMulticast());
  EXPECT_TRUE(IpAddress::Parse("ff02::1")->IsMulticast());
  EXPECT_FALSE(IpAddress::Parse("240.0.0.1")->IsMulticast());
  EXPECT_FALSE(IpAddress::Parse("fe80::1")->IsMulticast());
  EXPECT_TRUE(IpAddress::Parse("255.255.255.255")->IsBroadcast());
  EXPECT_FALSE(IpAddress::Parse("10.255.255.255")->IsBroadcast());
  EXPECT_TRUE(IpAddress::Parse("fe80::1")->IsLinkLocal());
  EXPECT_TRUE(IpAddress::Parse("febf::1")->IsLinkLocal());
  EXPECT_FALSE(IpAddress::Parse("fec0::1")->IsLinkLocal());
}

TEST(IpAddressTest, RecognizesInterfaceNames) {
  for (const char* yes : {"eth0", "enp0s31f6", "br-1.2", "a", "fifteen-letters"}) {
    EXPECT_TRUE(IsInterfaceName(yes)) << yes;
  }
  for (const char* no : {"", ".", "..", "a/b", "a b", "eth0:1", "a\x1b", "sixteen--letters"}) {
    EXPECT_FALSE(IsInterfaceName(no)) << no;
  }
}

TEST(IpAddressTest, TheScopeSelectsAmongSeveralOwners) {
  const IpAddress same = *IpAddress::Parse("fe80::1");
  const std::vector<Interface> interfaces = {
      {"lo", *IpAddress::Parse("::1")}, {"eth0", same}, {"eth1", same}};
  EXPECT_EQ(OwnerOf(same, interfaces)->name, "eth0");
  EXPECT_EQ(OwnerOf(*IpAddress::Parse("fe80::1%eth1"), interfaces)->name, "eth1");
  EXPECT_EQ(OwnerOf(*IpAddress::Parse("fe80::1%of-another"), interfaces)->name, "eth0");
  EXPECT_EQ(OwnerOf(*IpAddress::Parse("fe80::2%eth1"), interfaces), nullptr);
}

TEST(IpAddressTest, ThisMachineHasALoopbackInterface) {
  const auto interfaces = LocalInterfaces();
  ASSERT_TRUE(interfaces.ok());
  EXPECT_TRUE(std::ranges::any_of(*interfaces, [](const Interface& interface) {
    return interface.name == "lo" && interface.address.IsLoopback();
  }));
}

}  // namespace
}  // namespace autodist::base
