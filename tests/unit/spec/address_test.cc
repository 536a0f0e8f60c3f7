#include "spec/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::spec {
namespace {

using testing::HasSubstr;

TEST(AddressTest, ParsesHostsWithAndWithoutPort) {
  const struct {
    const char* text;
    const char* host;
    std::optional<uint16_t> port;
  } cases[] = {
      {"10.0.0.2", "10.0.0.2", {}},
      {"fd00::2", "fd00::2", {}},
      {"fe80::1%eth0", "fe80::1%eth0", {}},
      {"node-2.example", "node-2.example", {}},
      {"node_2", "node_2", {}},
      {"10.node", "10.node", {}},
      {"[fd00::2]", "fd00::2", {}},
      {"[fd00::2]:2222", "fd00::2", 2222},
      {"[fe80::1%eth0]:22", "fe80::1%eth0", 22},
      {"[host]:65535", "host", 65535},
      {"[10.0.0.2]:1", "10.0.0.2", 1},
  };
  for (const auto& c : cases) {
    const auto read = ReadHostAndPort(c.text);
    ASSERT_TRUE(read.ok()) << c.text << ": " << Message(read.status());
    EXPECT_EQ(read->host, c.host);
    EXPECT_EQ(read->port, c.port) << c.text;
  }
}

TEST(AddressTest, RefusesInvalidHosts) {
  const std::pair<std::string, const char*> cases[] = {
      {"host:22", "[host]:2222 in quotes"},
      {"10.0.0.2:22", "[host]:2222 in quotes"},
      {"fd00::2::3", "[host]:2222 in quotes"},
      {"a b", "neither an IPv4 or IPv6 address nor a host name"},
      {"-host", "neither"},
      {"fe80::1%", "neither"},
      {"user@host", "neither"},
      {"10.0.0.{2..3}", "a range of hosts is written gpu[1-4]"},
      {std::string("host\0", 5), "'host\\x00' is neither"},
      {std::string("10.0.0.1\0x", 10), "neither"},
      {std::string(254, 'a'), "neither"},
      {"10.0.0.256", "not an IPv4 address; those are four numbers"},
      {"127.1", "not an IPv4 address"},
      {"10", "not an IPv4 address"},
      {"[host", "should be written as [host] or [host]:port"},
      {"[host]22", "should be written as [host] or [host]:port"},
      {"[]", "'' is neither"},
      {"[[host]]", "should be written as"},
      {"[host]:", "port '' should be a number from 1 to 65535"},
      {"[host]:0", "port '0' should be"},
      {"[host]:65536", "port '65536' should be"},
      {"[host]:-1", "port '-1' should be"},
      {"[host]:22 ", "port '22 ' should be"},
      {"0.0.0.0", "means any address, not one machine"},
      {"::", "means any address"},
      {"[::]:22", "means any address"},
      {"::ffff:0.0.0.0", "means any address"},
      {"224.0.0.1", "is a multicast address"},
      {"ff02::1%eth0", "is a multicast address"},
      {"255.255.255.255", "is the broadcast address"},
      {"10.0.0.11/24", "has the length of a network's prefix after '/'; write '10.0.0.11'"},
      {"10.0.0.0/32", "write '10.0.0.0'"},
      {"10.0.0.128/25", "is a network, not a machine"},
      {"fd00::/8", "is a network, not a machine"},
      {"10.0.0.1/33", "is neither"},
      {"10.0.0.1/", "is neither"},
      {"gpu1/24", "is neither"},
  };
  for (const auto& [text, wanted] : cases) {
    const auto read = ReadHostAndPort(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(Message(read.status()), HasSubstr(wanted));
  }
}

// A Match exec of ssh's configuration may pass %h to a shell.
TEST(AddressTest, RefusesAnInterfaceThatIsACommand) {
  for (const char* text : {"fe80::1%$(id)", "fe80::1%`id`", "fe80::1%;id", "fe80::1%a|b"}) {
    EXPECT_THAT(Message(CheckHost(text)), HasSubstr("names a network interface")) << text;
  }
  EXPECT_TRUE(CheckHost("fe80::1%br-12.3_a").ok());
}

TEST(AddressTest, AcceptsUsers) {
  for (const char* text : {"ann", "ann.b-c_d", "ann@corp", "CORP\\ann", "host$", "\u00e4nn"}) {
    EXPECT_TRUE(CheckUser(text).ok()) << text;
  }
}

TEST(AddressTest, RefusesUsersWithShellSyntax) {
  for (const std::string text : {"",        "-oProxyCommand=id",
                                 "$(id)",   "`id`",
                                 "a;id",    "a&b",
                                 "a|b",     "a>b",
                                 "a<b",     "a'b",
                                 "a\"b",    "{a,b}",
                                 "a b",     "a\tb",
                                 "a\nb",    "a\x1b",
                                 "ann\\",   "a:b",
                                 "[a]",     "$USER",
                                 "${USER}", "a$b",
                                 "~ann"}) {
    EXPECT_THAT(Message(CheckUser(text)), HasSubstr("is not a user name")) << text;
  }
  EXPECT_FALSE(CheckUser(std::string(257, 'a')).ok());
  EXPECT_THAT(Message(CheckUser("$USER")), HasSubstr("variables are not replaced here"));
  for (const std::string text : {"root@gpu1", "ann@10.0.0.5", "ann@fd00::1"}) {
    EXPECT_FALSE(CheckUser(text).ok()) << text;
  }
  EXPECT_EQ(Message(CheckUser("root@gpu1")),
            "'root@gpu1' is not a user name: a host is the 'address' of a node; the user is "
            "'root'");
  EXPECT_EQ(Message(CheckUser("ann:geheim")),
            "'ann:…' is not a user name; a password cannot be given, because autodist logs in with "
            "keys; `ssh-copy-id` installs one");
}

TEST(AddressTest, AcceptsJumps) {
  for (const char* text :
       {"none", "gate", "ann@gate", "gate:2222", "ann@gate:2222", "10.0.0.1:22", "[fd00::1]",
        "ann@[fd00::1]:22", "a@gate,b@[fe80::1%eth0]:22,third", "ann@corp@gate"}) {
    EXPECT_TRUE(CheckProxyJump(text).ok()) << text << ": " << Message(CheckProxyJump(text));
  }
}

TEST(AddressTest, RefusesInvalidJumps) {
  const std::pair<std::string, const char*> cases[] = {
      {"-oProxyCommand=id", "'-oProxyCommand=id' is neither"},
      {"-a@gate", "'-a' is not a user name"},
      {"@gate", "'' is not a user name"},
      {"a b@gate", "not a user name"},
      {"$(id)@gate", "not a user name"},
      {"a\x1b@gate", "'a\\x1b' is not a user name"},
      {"ann@", "'' is neither"},
      {"gate ", "'gate ' is neither"},
      {"gate,", "'' is neither"},
      {",gate", "'' is neither"},
      {"gate, other", "' other' is neither"},
      {"none,gate:0", "port '0' should be a number"},
      {"gate:ssh", "port 'ssh' should be a number"},
      {"gate:", "port '' should be a number"},
      {"gate:65536", "port '65536'"},
      {"fd00::1", "should be in brackets, as [fd00::1]"},
      {"[fd00::1", "should be written as"},
      {"0.0.0.0", "means any address"},
      {"ssh://gate", "port '//gate'"},
  };
  for (const auto& [text, wanted] : cases) {
    const Status status = CheckProxyJump(text);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_THAT(Message(status), HasSubstr(wanted));
    EXPECT_THAT(Message(status), HasSubstr("a jump is written as user@host:port"));
  }
}

TEST(AddressTest, IdentityIsIndependentOfTheSpelling) {
  EXPECT_EQ(Identity("FD00:0::1"), Identity("fd00::1"));
  EXPECT_EQ(Identity("Host"), Identity("host"));
  EXPECT_NE(Identity("fe80::1%eth0"), Identity("fe80::1%eth1"));
  EXPECT_TRUE(IsLoopback("LOCALHOST"));
  EXPECT_TRUE(IsLoopback("127.3.2.1"));
  EXPECT_TRUE(IsLoopback("::1"));
  EXPECT_FALSE(IsLoopback("10.0.0.1"));
}

}  // namespace
}  // namespace autodist::spec
