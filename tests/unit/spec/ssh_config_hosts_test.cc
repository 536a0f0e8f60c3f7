#include "spec/ssh_config_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    for (const Problem& problem : list.problems) names.push_back(problem.ToString());
    for (const HostEntry& entry : list.hosts) {
      EXPECT_EQ(entry, (HostEntry{"", entry.host, std::nullopt}));
      names.push_back(entry.host);
    }
    return names;
  }

  test::TempFolder folder_;
};

TEST_F(SshConfigHostsTest, NamesThatAreNoPatterns) {
  folder_.Write("config",
                "# Host comment\nHost gpu1 gpu2 *.lab !bad h?\n  HostName 10.0.0.1\n"
                "\thost=\"gpu3\"  # why\r\nHOST = gpu4\nHost gpu1\nMatch host x\nUser Host\n"
                "Host *\nHostX no\nHost");
  EXPECT_THAT(Names(), ElementsAre("gpu1", "gpu2", "gpu3", "gpu4"));
  EXPECT_THAT(Names("gpu[24]"), ElementsAre("gpu2", "gpu4"));
}

TEST_F(SshConfigHostsTest, FollowsIncludeOneLevelDeep) {
  std::filesystem::create_directories(folder_.path() + "/config.d");
  std::filesystem::create_directories(folder_.path() + "/home");
  folder_.Write("config", "Host first\nInclude config.d/*.conf ~/more none\nHost last\n");
  folder_.Write("config.d/1.conf", "Host one\n");
  folder_.Write("config.d/2.conf", "Host two\nInclude config.d/1.conf\n");
  folder_.Write("home/more", "Host more\n");
  EXPECT_THAT(Names(), ElementsAre("first", "one", "two", "more", "last"));
  EXPECT_THAT(Read().warnings, ElementsAre(HasSubstr("2.conf:2: an Include inside an included")));
}

TEST_F(SshConfigHostsTest, AFileThatIncludesItselfEnds) {
  folder_.Write("config", "Host a\nInclude config\n");
  EXPECT_THAT(Names(), ElementsAre("a"));
}

TEST_F(SshConfigHostsTest, NamesThatNoSpecCanHaveAreLeftOut) {
  folder_.Write("config", "Host git/hub a \"two words\"\n");
  EXPECT_THAT(Names(), ElementsAre("a"));
  EXPECT_THAT(Read().warnings, ElementsAre(HasSubstr("config:1: 'git/hub' is left out"),
                                           HasSubstr("'two words' is left out")));
}

TEST_F(SshConfigHostsTest, TellsWhatThereIsWhereNothingMatches) {
  EXPECT_THAT(Names(), ElementsAre(HasSubstr("No such file or directory")));
  folder_.Write("config", "Host *\n");
  EXPECT_THAT(Names(), ElementsAre(HasSubstr("config: no Host in it")));
  folder_.Write("config", "Host cpu1 cpu2\n");
  EXPECT_THAT(Names("gpu*"),
              ElementsAre(HasSubstr("no Host in it matches 'gpu*'; it has 'cpu1', 'cpu2'")));
}

TEST_F(SshConfigHostsTest, SurvivesNoise) {
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
