#include "base/ip_address.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace autodist::base {
namespace {

TEST(IpAddressTest, ReadsBothFamilies) {
  EXPECT_EQ(IpAddress::Parse("10.0.0.1")->ToString(), "10.0.0.1");
  EXPECT_EQ(IpAddress::Parse("FE80::0:1")->ToString(), "fe80::1");
  EXPECT_EQ(IpAddress::Parse("fe80::1%eth0")->ToString(), "fe80::1%eth0");
  for (const char* no : {"", "10.0.0", "10.0.0.1:22", "host", "1.2.3.256", ":::"}) {
    EXPECT_FALSE(IpAddress::Parse(no)) << no;
  }
}

TEST(IpAddressTest, EqualWhateverTheSpelling) {
  EXPECT_EQ(*IpAddress::Parse("::1"), *IpAddress::Parse("0:0:0:0:0:0:0:1"));
  EXPECT_NE(*IpAddress::Parse("10.0.0.1"), *IpAddress::Parse("10.0.0.2"));
}

TEST(IpAddressTest, KnowsLoopback) {
  EXPECT_TRUE(IpAddress::Parse("127.9.9.9")->IsLoopback());
  EXPECT_TRUE(IpAddress::Parse("::1")->IsLoopback());
  EXPECT_FALSE(IpAddress::Parse("128.0.0.1")->IsLoopback());
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
