#include "base/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::base {
namespace {

using testing::HasSubstr;

TEST(ListenAddress, DefaultsAreTheLoopbackAddressAndAFreePort) {
  for (const auto& [text, read] : {std::pair("", "127.0.0.1:0"),
                                   {"9464", "127.0.0.1:9464"},
                                   {":9464", "127.0.0.1:9464"},
                                   {"localhost", "127.0.0.1:0"},
                                   {"localhost:1", "127.0.0.1:1"},
                                   {"10.0.0.1", "10.0.0.1:0"},
                                   {"10.0.0.1:65535", "10.0.0.1:65535"},
                                   {"[fd77::1]:9464", "[fd77::1]:9464"},
                                   {"[::1]", "[::1]:0"},
                                   {"::1", "[::1]:0"}}) {
    const auto address = ListenAddress::Parse(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), read);
  }
}

TEST(ListenAddress, InvalidAddressesAreRefused) {
  for (const char* text :
       {":", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:94a", "70000",
        "[127.0.0.1]:9464", "[::1]:", "[::1]80", "[]:1", "[::1", "gpu1:9464", "127.0.0.1:9464 "}) {
    const auto parsed = ListenAddress::Parse(text);
    EXPECT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(Message(parsed.status()), HasSubstr("is not ADDRESS:PORT")) << text;
  }
}

TEST(Listen, ReportsTheChosenPort) {
  const auto listening = Listen(*ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(listening.ok()) << listening.status();
  EXPECT_NE(listening->address.port, 0);
}

TEST(Listen, FailsIfThePortIsInUse) {
  const auto first = Listen(*ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Listen(first->address);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(Message(second.status()), first->address.ToString() + ": Address already in use");
  EXPECT_EQ(Remedy(second.status()), "use another port, or 0 for a free one");
}

TEST(ListenWithin, ChoosesTheFirstFreePort) {
  const auto taken = Listen(*ListenAddress::Parse("127.0.0.1:0"));
  ASSERT_TRUE(taken.ok()) << taken.status();
  const auto [ip, port] = taken->address;
  const auto none = ListenWithin(ip, {port, port});
  EXPECT_THAT(Message(none.status()), HasSubstr("already in use"));
  const auto next = ListenWithin(ip, {port, 65'535});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->address.port, port);
  EXPECT_NE(ListenWithin(ip, {})->address.port, 0);
}

TEST(Listen, FailsAtAnAddressOfAnotherMachine) {
  const auto listening = Listen(*ListenAddress::Parse("192.0.2.1:0"));
  ASSERT_FALSE(listening.ok());
  EXPECT_THAT(Remedy(listening.status()), HasSubstr("an address of this machine"));
}

}  // namespace
}  // namespace autodist::base
