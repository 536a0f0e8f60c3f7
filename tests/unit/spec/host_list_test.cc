#include "spec/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/hostfile.h"

namespace autodist::spec {

// For gtest's messages.
void PrintTo(const HostEntry& entry, std::ostream* out) {
  *out << entry.user << "@" << entry.host << ":"
       << (entry.slots ? std::to_string(*entry.slots) : "-");
}

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> Issues(const HostList& list) {
  std::vector<std::string> texts;
  for (const Issue& issue : list.issues) texts.push_back(issue.ToString());
  return texts;
}

struct PlaceholderCase {
  std::string hosts;
  std::string with;
};

TEST(WithPlaceholdersTest, KeepsTheWholeList) {
  const std::vector<std::string> needs = {"b", "gpu2", "fd00::1"};
  for (const auto& [hosts, with] : {PlaceholderCase{"a,b", "a,b:N"},
                                    {"ann@b,a:4", "ann@b:N,a:4"},
                                    {"b:2,a", "b:2,a"},
                                    {"a b", "a,b:N"},
                                    {"gpu[1-3],c[1,2]", "gpu[1-3]:N,c[1,2]"},
                                    {"fd00::1,fd00::2", "[fd00::1]:N,fd00::2"},
                                    {"[fd00::1]", "[fd00::1]:N"}}) {
    EXPECT_EQ(
        WithPlaceholders(
            hosts, [&](const std::string& host) { return testing::Value(needs, Contains(host)); }),
        with);
  }
}

std::vector<HostEntry> Right(const HostList& list) {
  EXPECT_THAT(Issues(list), IsEmpty());
  return list.hosts;
}

std::vector<HostEntry> Hostfile(const std::string& text) { return Right(ParseHostfile(text, "h")); }

TEST(HostListTest, RangesOfHosts) {
  EXPECT_THAT(Right(ParseHosts("ann@gpu[08-09,11]:4,b, c[1-2]")),
              ElementsAre(HostEntry{"ann", "gpu08", 4}, HostEntry{"ann", "gpu09", 4},
                          HostEntry{"ann", "gpu11", 4}, HostEntry{"", "b", std::nullopt},
                          HostEntry{"", "c1", std::nullopt}, HostEntry{"", "c2", std::nullopt}));
  EXPECT_THAT(Hostfile("gpu[1-2] slots=4\n"),
              ElementsAre(HostEntry{"", "gpu1", 4}, HostEntry{"", "gpu2", 4}));
  EXPECT_THAT(Issues(ParseHosts("a,ann@gpu[4-1]:2,b[1-2")),
              ElementsAre(HasSubstr("--hosts:11: a range"), HasSubstr("--hosts:19: '[' without")));
  EXPECT_THAT(Issues(ParseHosts("10.0.0.[256-999]")),
              ElementsAre(HasSubstr("--hosts:1: '10.0.0.256' is neither")));
  EXPECT_THAT(Issues(ParseHosts("a[1-3000],b[1-3000]")),
              ElementsAre(HasSubstr("more than 5000 hosts")));
}

TEST(HostListTest, HostsOnTheCommandLine) {
  EXPECT_THAT(
      Right(ParseHosts("ann@a:4,b , 10.0.0.1:2,[fd00::1]:4,[fd00::2],fd00::3,u@[fe80::1%eth0]:1")),
      ElementsAre(HostEntry{"ann", "a", 4}, HostEntry{"", "b", std::nullopt},
                  HostEntry{"", "10.0.0.1", 2}, HostEntry{"", "fd00::1", 4},
                  HostEntry{"", "fd00::2", std::nullopt}, HostEntry{"", "fd00::3", std::nullopt},
                  HostEntry{"u", "fe80::1%eth0", 1}));
}

TEST(HostListTest, BlanksSeparateHosts) {
  EXPECT_THAT(Right(ParseHosts(" a:2  ann@b\t, c[1-2]")),
              ElementsAre(HostEntry{"", "a", 2}, HostEntry{"ann", "b", std::nullopt},
                          HostEntry{"", "c1", std::nullopt}, HostEntry{"", "c2", std::nullopt}));
}

TEST(HostListTest, UsersMayHaveAnAt) {
  EXPECT_THAT(Right(ParseHosts("ann@example.org@a")),
              ElementsAre(HostEntry{"ann@example.org", "a", std::nullopt}));
}

TEST(HostListTest, ARepeatedHostGetsTheSlotsOfBoth) {
  EXPECT_THAT(Right(ParseHosts("a:2,b,A:3,b")),
              ElementsAre(HostEntry{"", "a", 5}, HostEntry{"", "b", 2, /*counted=*/true}));
  EXPECT_THAT(Right(ParseHosts("fd00::1,ann@[fd00:0::1]:4")),
              ElementsAre(HostEntry{"ann", "fd00::1", 5}));
}

TEST(HostListTest, AllErrorsOnTheCommandLine) {
  EXPECT_THAT(
      Issues(ParseHosts("a!b,,c:x,d:0,e:4097,@f,10.0.0.256,fd00::1:2:3:4:5:6:7:8:9,[fd00::1]4,[g],"
                        "-h,7,x@a,y@a")),
      ElementsAre(
          HasSubstr("--hosts:1: 'a!b' is neither"), HasSubstr("--hosts:5: a host is missing"),
          HasSubstr("--hosts:8: 'x' is not a number of devices"),
          HasSubstr("--hosts:12: '0' is not a number"), HasSubstr("--hosts:16: '4097' is not"),
          HasSubstr("before the '@': '' is not a user name"),
          HasSubstr("'10.0.0.256' is not an IPv4"), HasSubstr("written [ADDRESS]:N"),
          HasSubstr("'[fd00::1]4' is neither"), HasSubstr("'[g]' is neither"),
          HasSubstr("'-h' is neither"), HasSubstr("'7' is not an IPv4"),
          HasSubstr("with the user 'y' and with 'x'")));
  EXPECT_THAT(Issues(ParseHosts("")), ElementsAre(HasSubstr("a host is missing")));
  EXPECT_THAT(Issues(ParseHosts("a,")), ElementsAre(HasSubstr("--hosts:3: a host is missing")));
}

TEST(HostListTest, PasswordsAndPortsOnTheCommandLine) {
  EXPECT_THAT(
      Issues(ParseHosts("root:geheim@a,b:24182,gpu{1..4},gpu{1,2},10.0.0.9/24,~/.ssh/config,"
                        "ann@10.0.0.11:2222")),
      ElementsAre("--hosts:1: before the '@': 'root:…' is not a user name; a password cannot "
                  "be given, because autodist logs in with keys; `ssh-copy-id` installs one",
                  HasSubstr("--hosts:17: '24182' is not a number of devices, of which there "
                            "are 512 at most; a port is 'port: 24182' in an ssh group"),
                  HasSubstr("'gpu{1..4}' is neither an IPv4 or IPv6 address nor a host name; "
                            "a range of hosts is written gpu[1-4]"),
                  HasSubstr("'gpu{1,2}' is neither"), HasSubstr("; write '10.0.0.9'"),
                  HasSubstr("; a file of hosts is given with --spec or, to init, --hostfile"),
                  HasSubstr("'2222' is not a number of devices, of which there are 512 at most")));
}

TEST(HostListTest, QuotedTextIsEscapedForTheTerminal) {
  EXPECT_THAT(Issues(ParseHosts("a\x1b]31m")), ElementsAre(HasSubstr("'a\\x1b]31m' is neither")));
}

TEST(HostListTest, HostfilesOfThreeLaunchers) {
  EXPECT_THAT(Hostfile("# DeepSpeed\nworker-1 slots=4\n\nworker-2\tslots=2 # half\r\n"),
              ElementsAre(HostEntry{"", "worker-1", 4}, HostEntry{"", "worker-2", 2}));
  EXPECT_THAT(Hostfile("ann@a slots=2 max_slots=8\nb max-slots=4\n  c slots = 3\na slots=1"),
              ElementsAre(HostEntry{"ann", "a", 3}, HostEntry{"", "b", std::nullopt},
                          HostEntry{"", "c", 3}));
  EXPECT_THAT(Hostfile("a:2\nb\n[fd00::1]:4\nfd00::2 slots=4\n"),
              ElementsAre(HostEntry{"", "a", 2}, HostEntry{"", "b", std::nullopt},
                          HostEntry{"", "fd00::1", 4}, HostEntry{"", "fd00::2", 4}));
}

TEST(HostListTest, AllErrorsInAHostfile) {
  EXPECT_THAT(
      Issues(ParseHostfile("a slots=x\n b! slots=2\nc slot=2\nd slots\ne slots=1 slots=2\n"
                           "f:2 slots=2\ng 4\nh slots=\n",
                           "h")),
      ElementsAre(
          HasSubstr("h:1:9: 'x' is not a number"), HasSubstr("h:2:2: 'b!' is neither"),
          HasSubstr("h:3:3: 'slot' is not an option of a hostfile; did you mean 'slots=N'?"),
          HasSubstr("h:4:3: a number is missing"), HasSubstr("h:5:11: 'slots' appears twice"),
          HasSubstr("h:6:3: a number of devices "
                    "both"),
          HasSubstr("h:8:9: '' is not a number")));
  EXPECT_THAT(Issues(ParseHostfile("# only this\n\n", "h")), ElementsAre(HasSubstr("h: no host")));
}

TEST(HostListTest, TooManyHostsEndTheList) {
  std::string text;
  for (size_t i = 0; i <= kMaxHosts + 100; ++i) text += "h" + std::to_string(i) + "x\n";
  EXPECT_THAT(Issues(ParseHostfile(text, "h")), ElementsAre(HasSubstr("more than 5000 hosts")));
}

TEST(HostListTest, SlotsDoNotOverflow) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a slots=4096\n";
  EXPECT_THAT(Issues(ParseHostfile(text, "h")), Contains(HasSubstr("more than 4096 slots")));
}

TEST(HostListTest, ErrorsInOtherFilesAreLimited) {
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 200000; ++i)
    noise += static_cast<char>((state = state * 1103515245 + 12345) >> 16);
  EXPECT_THAT(ParseHostfile(noise, "h").issues, SizeIs(testing::Le(101u)));
  EXPECT_THAT(ParseHosts(noise).issues, SizeIs(testing::Le(101u)));
}

TEST(HostListTest, EveryPrefixAndChangedByteIsHandled) {
  const std::string text = "ann@[fd00::1]:4,b:2 slots = 4 max_slots=1#\nc";
  for (size_t i = 0; i <= text.size(); ++i) {
    ParseHosts(text.substr(0, i));
    ParseHostfile(text.substr(0, i), "h");
    for (const char c : std::string("\0\n,:[]@=# \xff", 11)) {
      std::string changed = text;
      changed.insert(i, 1, c);
      ParseHosts(changed);
      ParseHostfile(changed, "h");
    }
  }
}

}  // namespace
}  // namespace autodist::spec
