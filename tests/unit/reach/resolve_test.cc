#include "reach/resolve.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

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
