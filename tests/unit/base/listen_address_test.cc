#include "base/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::base {
namespace {

using testing::HasSubstr;

TEST(ListenAddress, IsANumericAddressAndAPort) {
  const auto v4 = ListenAddress::Parse("127.0.0.1:9464");
  ASSERT_TRUE(v4.ok()) << v4.status();
  EXPECT_EQ(v4->port, 9464);
  EXPECT_EQ(v4->ToString(), "127.0.0.1:9464");
  const auto v6 = ListenAddress::Parse("[fd77::1]:0");
  ASSERT_TRUE(v6.ok()) << v6.status();
  EXPECT_TRUE(v6->ip.v6);
  EXPECT_EQ(v6->ToString(), "[fd77::1]:0");
}

TEST(ListenAddress, IsRefusedWhereItCouldMeanSomethingElse) {
  for (const char* text : {"", ":", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:-1", "127.0.0.1:94a", "::1:9464", "[127.0.0.1]:9464", "[::1]",
                           "[]:1", "localhost:9464", "127.0.0.1:9464 "}) {
    const auto parsed = ListenAddress::Parse(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("is not ADDRESS:PORT")) << text;
  }
}

TEST(Listen, TellsThePortThatItHasFound) {
  const auto listening = Listen(*ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(listening.ok()) << listening.status();
  EXPECT_NE(listening->address.port, 0);
}

TEST(Listen, FailsWhereSomebodyElseDoes) {
  const auto first = Listen(*ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Listen(first->address);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(Message(second.status()), first->address.ToString() + ": Address already in use");
  EXPECT_EQ(Remedy(second.status()), "another port, or 0 for one that is free");
}

TEST(Listen, FailsAtAnAddressThatThisMachineHasNot) {
  const auto listening = Listen(*ListenAddress::Parse("192.0.2.1:0"));
  ASSERT_FALSE(listening.ok());
  EXPECT_THAT(Remedy(listening.status()), HasSubstr("an address of this machine"));
}

}  // namespace
}  // namespace autodist::base
