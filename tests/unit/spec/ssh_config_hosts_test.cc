#include "spec/ssh_config_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ssh_pattern.h"
#include "support/temp_folder.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SshConfigHostsTest : public testing::Test {
 protected:
  HostList Read(const std::string& pattern = "*") {
    return SshConfigHosts(folder_.path(), folder_.path() + "/home", pattern);
  }
  std::vector<std::string> Names(const std::string& pattern = "*") {
    const HostList list = Read(pattern);
    std::vector<std::string> names;
    for (const Issue& issue : list.issues) names.push_back(issue.ToString());
    for (const HostEntry& entry : list.hosts) {
      EXPECT_EQ(entry, (HostEntry{"", entry.host, std::nullopt}));
      names.push_back(entry.host);
    }
    return names;
  }

  test::TempFolder folder_;
};

TEST_F(SshConfigHostsTest, NamesWithoutPatterns) {
  folder_.Write("config",
                "# Host comment\nHost gpu1 gpu2 *.lab !bad h?\n  HostName 10.0.0.1\n"
                "\thost=\"gpu3\"  # why\r\nHOST = gpu4\nHost gpu1\nMatch host x\nUser Host\n"
                "Host *\nHostX no\nHost");
  EXPECT_THAT(Names(), ElementsAre("gpu1", "gpu2", "gpu3", "gpu4"));
  EXPECT_THAT(Names("gpu[24]"), ElementsAre("gpu2", "gpu4"));
}

TEST_F(SshConfigHostsTest, FollowsIncludesOfIncludes) {
  std::filesystem::create_directories(folder_.path() + "/config.d");
  std::filesystem::create_directories(folder_.path() + "/home");
  folder_.Write("config", "Host first\nInclude config.d/*.conf ~/more none\nHost last\n");
  folder_.Write("config.d/1.conf", "Match all\nHost one\n");
  folder_.Write("config.d/2.conf", "Host two\nInclude config.d/1.conf config.d/3.inc\nHost four\n");
  folder_.Write("config.d/3.inc", "Host three two\n");
  folder_.Write("home/more", "Host more\n");
  // Those in the block of `first`, or of `two`, apply only to these names.
  EXPECT_THAT(Names(), ElementsAre("first", "last"));
  folder_.Write("config", "Include config.d/*.conf ~/more none\nHost last\n");
  EXPECT_THAT(Names(), ElementsAre("one", "two", "four", "more", "last"));
  folder_.Write("config.d/2.conf", "Match host *.lab user ann\nInclude config.d/3.inc\n");
  folder_.Write("config.d/3.inc", "Host three a.lab\n");
  EXPECT_THAT(Names(), ElementsAre("one", "a.lab", "more", "last"));
  EXPECT_THAT(Read().warnings, IsEmpty());
}

TEST_F(SshConfigHostsTest, CyclesAndDepthsThatSshRefusesAreNamed) {
  folder_.Write("config", "Include b\nHost a\n");
  folder_.Write("b", "Host b\nHost *\nInclude config\n");
  EXPECT_THAT(Names(), ElementsAre("b", "a"));
  EXPECT_THAT(Read().warnings, ElementsAre(HasSubstr("/b:3: not included: ")));
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    folder_.Write("f" + number, "Host h" + number + "\nHost *\nInclude f" + std::to_string(i + 1));
  }
  folder_.Write("config", "Include f0\n");
  EXPECT_EQ(Names().size(), 16u);
  EXPECT_THAT(Read().warnings, ElementsAre(HasSubstr("more than 16 Includes deep")));
}

TEST_F(SshConfigHostsTest, NamesExcludedByTheirOwnLine) {
  folder_.Write(
      "config",
      "Host gpu1 gpu2 !gpu2\nHost * !gpu3\nHost 'gpu4' \"gpu 5\" gpu6 # gpu7\n"
      "Match originalhost gpu8,gpu9,!gpu9,g* exec \"true\"\nHost=gpu10\nHost \t=\t gpu11\n");
  EXPECT_THAT(Names("gpu[0-9]*"), ElementsAre("gpu1", "gpu4", "gpu6", "gpu8", "gpu10", "gpu11"));
}

TEST(SshConfigTextTest, Words) {
  EXPECT_THAT(SshConfigWords("  Host a\t'b c' d\"e f\"g h\\ i \\\"j  # k"),
              ElementsAre("Host", "a", "b c", "de fg", "h i", "\"j"));
  EXPECT_THAT(SshConfigWords("HostName = x"), ElementsAre("HostName", "x"));
  EXPECT_THAT(SshConfigWords("User=a=b#c"), ElementsAre("User", "a=b#c"));
  EXPECT_THAT(SshConfigWords(" # Host a"), IsEmpty());
}

TEST(SshConfigTextTest, Patterns) {
  for (const auto& [name, pattern] : std::vector<std::pair<std::string, std::string>>{
           {"a.lab", "*.lab"}, {"gpu1", "gpu?"}, {"x", "*"}, {"", "*"}, {"abcbc", "a*bc"}}) {
    EXPECT_TRUE(base::MatchesSshPattern(name, pattern)) << name << " " << pattern;
  }
  for (const auto& [name, pattern] : std::vector<std::pair<std::string, std::string>>{
           {"lab", "*.lab"}, {"gpu", "gpu?"}, {"gpu1", "gpu[1]"}, {"a", ""}, {"abcb", "a*bc"}}) {
    EXPECT_FALSE(base::MatchesSshPattern(name, pattern)) << name << " " << pattern;
  }
  EXPECT_TRUE(base::MatchesSshPatterns("a", {"b", "?"}));
  EXPECT_FALSE(base::MatchesSshPatterns("a", {"*", "!a"}));
  EXPECT_FALSE(base::MatchesSshPatterns("a", {"!b"}));
}

TEST_F(SshConfigHostsTest, AFileThatIncludesItselfEnds) {
  folder_.Write("config", "Host a\nInclude config\n");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(SshConfigHostsTest, NamesThatNoSpecCanHaveAreOmitted) {
  folder_.Write("config", "Host git/hub a \"two words\"\n");
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(Read().warnings, ElementsAre(HasSubstr("config:1: 'git/hub' is left out"),
                                           HasSubstr("'two words' is left out")));
}

TEST_F(SshConfigHostsTest, ListsNamesIfNoneMatches) {
  EXPECT_THAT(Names(), ElementsAre(HasSubstr("No such file or directory")));
  folder_.Write("config", "Host *\n");
  EXPECT_THAT(Names(), ElementsAre(HasSubstr("config: no Host in it")));
  folder_.Write("config", "Host cpu1 cpu2\n");
  EXPECT_THAT(Names("gpu*"),
              ElementsAre(HasSubstr("no Host in it matches 'gpu*'; it has 'cpu1', 'cpu2'")));
}

TEST_F(SshConfigHostsTest, HandlesRandomInput) {
  std::string noise = "Host \"\nHost\nInclude\nInclude \"\nhost=\n=\n\"\n\"\"\n";
  unsigned state = 1;
  for (int i = 0; i < 100000; ++i) {
    noise += static_cast<char>((state = state * 1103515245 + 12345) >> 16);
  }
  folder_.Write("config", noise);
  EXPECT_THAT(Read().hosts, IsEmpty());
}

}  // namespace
}  // namespace autodist::spec
