#include "spec/hostfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/hostfile_form.h"

namespace autodist::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// "[user@]host[:slots][/port]", with '?' after slots of a scheduler, for each host; then the
// errors.
std::vector<std::string> HostsRead(const std::string& text) {
  std::vector<std::string> read;
  const HostList list = ParseHostfile(text, "h");
  for (const HostEntry& host : list.hosts) {
    read.push_back((host.user.empty() ? "" : host.user + "@") + host.host +
                   (host.slots ? ":" + std::to_string(*host.slots) : "") +
                   (host.counted ? "?" : "") + (host.port ? "/" + std::to_string(*host.port) : ""));
  }
  for (const Issue& issue : list.issues) read.push_back(issue.ToString());
  return read;
}

TEST(HostfileFormTest, FormatsOfEachProgram) {
  const std::pair<const char*, HostfileForm> cases[] = {
      {"", HostfileForm::kHosts},
      {"gpu1", HostfileForm::kHosts},
      {"gpu1 slots=2\ngpu2:2", HostfileForm::kHosts},
      {"gpu1\ngpu2 4", HostfileForm::kHosts},
      {"hello world", HostfileForm::kHosts},
      {"please use these", HostfileForm::kHosts},
      {"start with:\n", HostfileForm::kHosts},
      {"gpu1 2 gpu2 2", HostfileForm::kCounts},
      {"gpu1 2\ngpu2 2", HostfileForm::kCounts},
      {"gpu1 2 all.q@gpu1 UNDEFINED", HostfileForm::kGridEngine},
      {"gpu1 2 all.q@gpu1 <NULL>\ngpu2 2 all.q@gpu2 0,0:0,1", HostfileForm::kGridEngine},
      {"a a b", HostfileForm::kNames},
      {"gpu1 gpu2 gpu3", HostfileForm::kNames},
      {"gpu1 gpu2\ngpu3", HostfileForm::kHosts},
      {"gpu1:22 ann", HostfileForm::kUsers},
      {"10.0.0.1 ubuntu\n10.0.0.2 ubuntu", HostfileForm::kUsers},
      {"10.0.0.1 gpu1\n10.0.0.2 gpu2", HostfileForm::kHostsTable},
      {"10.0.0.1 gpu1 gpu1.lab", HostfileForm::kHostsTable},
      {"10.0.0.1 10.0.0.1 10.0.0.2", HostfileForm::kNames},
      {"rank 0=gpu1 slot=0", HostfileForm::kRanks},
      {"[workers]\ngpu1", HostfileForm::kInventory},
      {"[workers:vars]\na=b", HostfileForm::kInventory},
      {"gpu1 ansible_user=ann", HostfileForm::kInventory},
      {"[fd00::1]:4", HostfileForm::kHosts},
      {"NodeName=gpu[1-4] CPUs=64 Gres=gpu:8", HostfileForm::kNodeNames},
  };
  for (const auto& [text, form] : cases) EXPECT_EQ(FormOf(HostfileLines(text)), form) << text;
}

TEST(HostfileTest, ListsOfSchedulers) {
  for (const char* text : {"a1 1 b2 2", "a1 1\nb2 2\n", "a1\nb2\nb2\n", "a1 b2 b2",
                           "export LSB_MCPU_HOSTS='a1 1 b2 2 '", "LSB_HOSTS=\"a1 b2 b2\"",
                           "a1 1 q@a1 UNDEFINED\nb2 2 q@b2 UNDEFINED\n", "a1/0+b2/0*2",
                           "rank 0=a1 slot=0\nrank 1=b2 slot=0\nrank 2=b2 slot=1"}) {
    const auto read = HostsRead(text);
    ASSERT_EQ(read.size(), 2u) << text;
    EXPECT_THAT(read[0], testing::AnyOf("a1", "a1:1?")) << text;
    EXPECT_EQ(read[1], "b2:2?") << text;
  }
  EXPECT_THAT(
      HostsRead("NodeName=DEFAULT CPUs=4\nNodeName=a[1-2] Gres=gpu:a100:4(S:0-1),gpu:v100:1\n"
                "PartitionName=x Nodes=ALL\nNodeName=c CPUs=8"),
      ElementsAre("a1:5", "a2:5", "c"));
}

TEST(HostfileTest, OptionsOfHosts) {
  EXPECT_THAT(
      HostsRead("a:2 binding=user:0,1\nb:2 user=ann\nc:4:mlx5_1\nd slots=2 port=2200\n"
                "e np=64 gpus=4\nf gpus=4 np=64\ng count = 3 max_slots= 5\nh cpu=2 slots_max =4"),
      ElementsAre("a:2", "ann@b:2", "c:4", "d:2/2200", "e:4", "f:4", "g:3", "h:2"));
  EXPECT_THAT(HostsRead("a,b:2,c[1-2]:3"), ElementsAre("a", "b:2", "c1:3", "c2:3"));
  EXPECT_THAT(HostsRead("a1:2200 ann\nb1 ann"), ElementsAre("ann@a1/2200", "ann@b1"));
  EXPECT_THAT(HostsRead("a port=x\nb user='\nc@d user=e\nf gpus=1 gpus=2\ng slos=1"),
              ElementsAre("h:1:8: 'x' is not the number of a port", "h:2:8: ''' is not a user name",
                          HasSubstr("h:3:1: the user is both 'c' and 'e'"),
                          HasSubstr("h:4:10: 'gpus' appears twice"),
                          HasSubstr("h:5:3: 'slos' is not an option of a hostfile; did you mean "
                                    "'slots=N'?")));
}

TEST(HostfileTest, OneWarningListsUnusedParts) {
  const HostList list = ParseHostfile("a:2:hca x=1\nb y=2\n", "h");
  EXPECT_THAT(list.warnings, ElementsAre("h: not used of this list: 'x=1' (line 1), ':hca' (line "
                                         "1), 'y=2' (line 2)"));
  EXPECT_THAT(ParseHostfile("a max_slots=4\n", "h").warnings, IsEmpty());
}

TEST(HostfileTest, TheFirstInvalidLineEndsTheList) {
  EXPECT_THAT(HostsRead("a slots=1\nstart with:\nmpirun -np 4 x\n"),
              ElementsAre("a:1", "h:2: 'start with:' is not a host; put comments behind a '#'"));
  EXPECT_THAT(HostsRead("10.0.0.1 a\n10.0.0.2 b\n"),
              ElementsAre(HasSubstr("h:1: '10.0.0.1 a' is a line of /etc/hosts")));
}

TEST(HostfileTest, InventoriesOfAnsible) {
  EXPECT_THAT(
      HostsRead("top ansible_user=root\n[w]\na ansible_host=10.0.0.1\nb[01:02]:2200\n"
                "[w:vars]\nansible_user=ann\n[both:children]\nw\nv\n[v]\nc\ntop\n"
                "[both:vars]\nansible_port = 22\nansible_user=bob\n[all:vars]\nansible_port=1\n"),
      ElementsAre("root@top/22", "ann@10.0.0.1/22", "ann@b01/2200", "ann@b02/2200", "bob@c/22"));
  EXPECT_THAT(HostsRead("[a]\nx ansible_port=y ansible_user='a b'\n"),
              ElementsAre(HasSubstr("h:2:1: ansible_user: 'a b' is not a user name")));
  EXPECT_THAT(HostsRead("[a]\n"), ElementsAre("h: an inventory of Ansible without hosts"));
}

}  // namespace
}  // namespace autodist::spec
