#include "slurm/hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace autodist::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Environment = std::map<std::string, std::string>;

spec::HostList Hosts(const Environment& environment) {
  return SlurmHosts([&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

std::vector<std::string> SlurmIssues(const Environment& environment) {
  std::vector<std::string> texts;
  for (const spec::Issue& issue : Hosts(environment).issues) texts.push_back(issue.ToString());
  return texts;
}

std::vector<std::string> Names(const std::string& nodes) {
  const spec::HostList list = Hosts({{"SLURM_JOB_NODELIST", nodes}});
  EXPECT_THAT(list.issues, IsEmpty()) << nodes;
  std::vector<std::string> names;
  for (const spec::HostEntry& entry : list.hosts) names.push_back(entry.host);
  return names;
}

// "a:4 b:- ..."
std::string Slots(Environment environment) {
  const spec::HostList list = Hosts(environment);
  EXPECT_THAT(list.issues, IsEmpty());
  std::string text;
  for (const spec::HostEntry& entry : list.hosts) {
    text += (text.empty() ? "" : " ") + entry.host + ":" +
            (entry.slots ? std::to_string(*entry.slots) : "-");
  }
  return text;
}

TEST(TasksOfStepTest, AreThoseOfSrunAndNotOfTheAllocation) {
  for (const auto& [environment, tasks] :
       {std::pair<Environment, uint64_t>{{}, 1},
        {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}, 1},  // a batch script
        {{{"SLURM_STEP_ID", "4294967291"}, {"SLURM_NTASKS", "8"}}, 1},
        {{{"SLURM_STEP_ID", "4294967290"}, {"SLURM_STEP_NUM_TASKS", "8"}}, 1},  // salloc's shell
        {{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "8"}}, 1},
        {{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}, 8},
        {{{"SLURM_STEP_ID", "3"}, {"SLURM_NTASKS", "2"}}, 2},
        {{{"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "x"}}, 1}}) {
    const auto variable = [&from =
                               environment](const std::string& name) -> std::optional<std::string> {
      const auto found = from.find(name);
      return found == from.end() ? std::nullopt : std::optional(found->second);
    };
    EXPECT_EQ(TasksOfStep(variable), tasks) << testing::PrintToString(environment);
  }
}

TEST(SlurmGpusTest, AreListedNodeByNode) {
  const auto gpus = SlurmGpus(
      "JobId=7 JobName=a b\n   NodeList=n[1-5]\n   JOB_GRES=gpu:9\n"
      "     Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:2(IDX:0-1)\n"
      "     Nodes=n3,x4 CPU_IDs=0 Mem=0 GRES=gpu:a100:2(IDX:0,3),nic:1(IDX:5),gpu:v100:1(IDX:4)\n"
      "     Nodes=n5 CPU_IDs=0 Mem=0 GRES=\n");
  EXPECT_EQ(gpus, (std::map<std::string, std::vector<uint32_t>>{
                      {"n1", {0, 1}}, {"n2", {0, 1}}, {"n3", {0, 3, 4}}, {"x4", {0, 3, 4}}}));
  EXPECT_THAT(SlurmGpus("Nodes=n1 GRES=gpu:2(IDX:0-"), IsEmpty());
  EXPECT_THAT(SlurmGpus("Nodes=n1 GRES=gpu:2(IDX:a)"), IsEmpty());
}

TEST(SlurmHostsTest, NodeLists) {
  EXPECT_THAT(Names("gpu1"), ElementsAre("gpu1"));
  EXPECT_THAT(Names("gpu[01-03,7],x1,rack[1-2]n[1-2]"),
              ElementsAre("gpu01", "gpu02", "gpu03", "gpu7", "x1", "rack1n1", "rack1n2", "rack2n1",
                          "rack2n2"));
  EXPECT_THAT(Names("n[8-11]-ib"), ElementsAre("n8-ib", "n9-ib", "n10-ib", "n11-ib"));
  EXPECT_THAT(Names("n[098-101]x"), ElementsAre("n098x", "n099x", "n100x", "n101x"));
  EXPECT_THAT(Names("n[1-5000]"), SizeIs(5000));
}

TEST(SlurmHostsTest, InvalidNodeLists) {
  const auto issue = [](const std::string& nodes) {
    const auto issues = SlurmIssues({{"SLURM_JOB_NODELIST", nodes}});
    return issues.size() == 1 ? issues[0] : std::to_string(issues.size()) + " issues";
  };
  EXPECT_THAT(issue("a,,b"), HasSubstr("SLURM_JOB_NODELIST:3: a host name is missing"));
  EXPECT_THAT(issue("a,"), HasSubstr(":3: a host name is missing"));
  EXPECT_THAT(issue("a[1-2"), HasSubstr(":2: '[' without a ']'"));
  EXPECT_THAT(issue("a1-2]"), HasSubstr(":5: ']' without a '['"));
  EXPECT_THAT(issue("a[]"), HasSubstr(":3: a number"));
  EXPECT_THAT(issue("a[1,]"), HasSubstr(":5: a number"));
  EXPECT_THAT(issue("a[x]"), HasSubstr(":3: a number"));
  EXPECT_THAT(issue("a[1;2]"), HasSubstr(":4: ';' inside brackets"));
  EXPECT_THAT(issue("a[3-1]"), HasSubstr("to a greater one"));
  EXPECT_THAT(issue("a[1-]"), HasSubstr("to a greater one"));
  EXPECT_THAT(issue("a[[1]]"), HasSubstr("a number"));
  EXPECT_THAT(issue("a b"), HasSubstr("'a b' is not a host name"));
}

TEST(SlurmHostsTest, ALargeNumberOfNodesIsRefused) {
  for (const std::string nodes :
       {"n[1-5001]", "n[0-999999999]", "n[1-100][1-100]", "a[1-3000],b[1-3000]",
        "n[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]"}) {
    EXPECT_THAT(SlurmIssues({{"SLURM_JOB_NODELIST", nodes}}),
                ElementsAre(HasSubstr("more than 5000 hosts")))
        << nodes;
  }
  EXPECT_THAT(SlurmIssues({{"SLURM_JOB_NODELIST", "n[1-9999999999]"}}), SizeIs(1));
  EXPECT_THAT(SlurmIssues({{"SLURM_JOB_NODELIST", "n[1-5000]" + std::string(100000, 'a')}}),
              ElementsAre(HasSubstr("more than 253 characters")));
}

TEST(SlurmHostsTest, EveryPrefixAndChangedByteIsHandled) {
  const std::string text = "gpu[01-03,7],x1,rack[1-2]n[1-4]";
  for (size_t i = 0; i <= text.size(); ++i) {
    for (const char c : std::string("\0\n,-[]9(x \xff", 11)) {
      std::string changed = text.substr(0, i) + c + text.substr(i);
      Hosts({{"SLURM_JOB_NODELIST", changed}, {"SLURM_TASKS_PER_NODE", changed}});
    }
  }
}

TEST(SlurmHostsTest, DevicesAreGpusOtherwiseTasks) {
  const std::string nodes = "n[1-3]x";
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", nodes}}), "n1x:- n2x:- n3x:-");
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", nodes}, {"SLURM_TASKS_PER_NODE", "4(x2),2"}}),
            "n1x:4 n2x:4 n3x:2");
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", nodes},
                   {"SLURM_TASKS_PER_NODE", "1(x3)"},
                   {"SLURM_NTASKS_PER_NODE", "6"}}),
            "n1x:6 n2x:6 n3x:6");
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", nodes},
                   {"SLURM_TASKS_PER_NODE", "1(x3)"},
                   {"SLURM_GPUS_ON_NODE", "8"}}),
            "n1x:8 n2x:8 n3x:8");
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", nodes},
                   {"SLURM_TASKS_PER_NODE", "1(x3)"},
                   {"SLURM_JOB_GPUS", "0-1,2"}}),
            "n1x:3 n2x:3 n3x:3");
}

TEST(SlurmHostsTest, OptionsOfSalloc) {
  const auto slots = [](const std::string& gpus) {
    return Slots({{"SLURM_JOB_NODELIST", "n[1-2]x"},
                  {"SLURM_TASKS_PER_NODE", "1(x2)"},
                  {"SLURM_GPUS_PER_NODE", gpus}});
  };
  EXPECT_EQ(slots("3"), "n1x:3 n2x:3");
  EXPECT_EQ(slots("a100:3"), "n1x:3 n2x:3");
  EXPECT_EQ(slots("gpu:a100:2,gpu:v100:1"), "n1x:3 n2x:3");
  EXPECT_EQ(Slots({{"SLURM_JOB_NODELIST", "n1"},
                   {"SLURM_GPUS_ON_NODE", "2"},
                   {"SLURM_GPUS_PER_NODE", "8"}}),
            "n1:2");
  for (const std::string gpus :
       {"", "a100", "a100:", "a100:0", "2,", "4096,1", "a100:4294967295"}) {
    EXPECT_THAT(SlurmIssues({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_GPUS_PER_NODE", gpus}}),
                ElementsAre(HasSubstr("SLURM_GPUS_PER_NODE:")))
        << gpus;
  }
}

TEST(SlurmHostsTest, GpusThatDoNotStartAtZeroCauseAWarning) {
  EXPECT_THAT(Hosts({{"SLURM_JOB_NODELIST", "n1x"}, {"SLURM_JOB_GPUS", "4,5"}}).warnings,
              ElementsAre(HasSubstr("the GPUs 4,5 of this machine")));
  EXPECT_THAT(Hosts({{"SLURM_JOB_NODELIST", "n1x"}, {"SLURM_JOB_GPUS", "0,1"}}).warnings,
              IsEmpty());
  EXPECT_THAT(Hosts({{"SLURM_JOB_NODELIST", "n1x"}, {"SLURM_JOB_GPUS", "0-4294967295"}}).issues,
              IsEmpty());
}

TEST(SlurmHostsTest, InvalidCounts) {
  EXPECT_THAT(
      SlurmIssues({{"SLURM_JOB_NODELIST", "n[1-3]x"}, {"SLURM_TASKS_PER_NODE", "4(x2)"}}),
      ElementsAre("SLURM_TASKS_PER_NODE: has values for 2 nodes, but SLURM_JOB_NODELIST names 3"));
  for (const std::string counts : {"4(x", "4(x0)", "4(xa)", "x", "", "4,,2", "4(x2)3", "0",
                                   "4(x4294967295)", "4(x99999999999)"}) {
    EXPECT_THAT(SlurmIssues({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", counts}}),
                ElementsAre(HasSubstr("SLURM_TASKS_PER_NODE:")))
        << counts;
  }
}

TEST(SlurmHostsTest, NodesWithDifferentGpus) {
  struct Case {
    Environment environment;
    std::string slots;
    std::string warning;
  };
  const Environment two = {{"SLURM_JOB_NODELIST", "new1,old1"}, {"SLURM_GPUS_ON_NODE", "8"}};
  const auto with = [](Environment environment, const Environment& more) {
    environment.insert(more.begin(), more.end());
    return environment;
  };
  const std::vector<Case> cases = {
      {with(two, {{"SLURM_GPUS", "12"}, {"SLURM_TASKS_PER_NODE", "8,4"}}), "new1:8 old1:4", ""},
      {with(two, {{"SLURM_TASKS_PER_NODE", "8,4"}}), "new1:8 old1:4", ""},
      {with(two, {{"SLURM_GPUS", "a100:12"}, {"SLURM_TASKS_PER_NODE", "1(x2)"}}), "new1:8 old1:4",
       ""},
      {with(two, {{"SLURM_GPUS", "12"}, {"SLURMD_NODENAME", "old1"}}), "new1:4 old1:8", ""},
      {with(two,
            {{"SLURM_GPUS", "12"}, {"SLURM_TASKS_PER_NODE", "2,1"}, {"SLURM_GPUS_PER_TASK", "4"}}),
       "new1:8 old1:4", ""},
      {with(two, {{"SLURM_GPUS", "16"}, {"SLURM_TASKS_PER_NODE", "3,1"}}), "new1:8 old1:8", ""},
      {with(two, {{"SLURM_TASKS_PER_NODE", "3,1"}}), "new1:8 old1:8",
       "SLURM_GPUS_ON_NODE is '8', of this node alone, and SLURM_TASKS_PER_NODE is '3,1'"},
      {with(two, {{"SLURM_GPUS_PER_NODE", "4"}}), "new1:4 old1:4",
       "SLURM_GPUS_PER_NODE is '4': the latter is taken"},
      {{{"SLURM_JOB_NODELIST", "n[1-3]x"}, {"SLURM_GPUS_ON_NODE", "8"}, {"SLURM_GPUS", "14"}},
       "n1x:8 n2x:- n3x:-",
       "how many the other nodes have is not known"},
      {{{"SLURM_JOB_NODELIST", "n[1-2]x"}, {"SLURM_GPUS", "8"}, {"SLURM_TASKS_PER_NODE", "5,3"}},
       "n1x:5 n2x:3",
       ""},
      {{{"SLURM_JOB_NODELIST", "n[1-2]x"}, {"SLURM_GPUS", "8"}},
       "n1x:4 n2x:4",
       "they are taken to be alike"},
      {{{"SLURM_JOB_NODELIST", "n[1-2]x"}, {"SLURM_GPUS", "7"}},
       "n1x:- n2x:-",
       "SLURM_GPUS is '7' for 2 nodes"},
      {{{"SLURM_JOB_NODELIST", "n1x"}, {"SLURM_GPUS_ON_NODE", "8"}, {"SLURM_GPUS", "2"}},
       "n1x:2",
       "the smaller number is taken"},
      {{{"SLURM_JOB_NODELIST", "n1x"}, {"SLURM_JOB_GPUS", "GPU-8932"}},
       "n1x:-",
       "SLURM_JOB_GPUS is 'GPU-8932'"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Slots(one.environment), one.slots);
    const auto warnings = Hosts(one.environment).warnings;
    EXPECT_EQ(warnings.size(), one.warning.empty() ? 0u : 1u) << one.slots;
    if (!one.warning.empty() && !warnings.empty()) {
      EXPECT_THAT(warnings[0], HasSubstr(one.warning));
    }
  }
}

TEST(SlurmHostsTest, AHeterogeneousJobHasAllItsComponents) {
  Environment environment = {{"SLURM_HET_SIZE", "2"},
                             {"SLURM_JOB_NODELIST", "new1"},
                             {"SLURM_JOB_NODELIST_HET_GROUP_0", "new1"},
                             {"SLURM_JOB_NODELIST_HET_GROUP_1", "old[1-2]"},
                             {"SLURM_GPUS_ON_NODE", "8"},
                             {"SLURM_TASKS_PER_NODE_HET_GROUP_0", "8"},
                             {"SLURM_TASKS_PER_NODE_HET_GROUP_1", "4(x2)"}};
  EXPECT_EQ(Slots(environment), "new1:8 old1:4 old2:4");
  environment.erase("SLURM_JOB_NODELIST_HET_GROUP_1");
  EXPECT_EQ(Slots(environment), "new1:8");
  EXPECT_THAT(Hosts(environment).warnings, ElementsAre(HasSubstr("component 1 of this")));
  const auto left_out = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_THAT(LeftOutComponents(left_out), HasSubstr("has 2 components"));
  environment.erase("SLURM_HET_SIZE");
  EXPECT_EQ(LeftOutComponents(left_out), "");
}

TEST(SlurmGpusTest, OtherForms) {
  const auto gpus = SlurmGpus(
      "   Nodes=a CPU_IDs=0 Mem=0 GRES_IDX=gpu(IDX:0,2)\n   Nodes=b Mem=0 GRES=gpu:2\n"
      "   Nodes=c Mem=0 GRES=gpu:a100:3(CNT:3),nic:1\n   Nodes=d Mem=0 GRES=gpus:2,shard:4\n");
  EXPECT_EQ(gpus, (std::map<std::string, std::vector<uint32_t>>{
                      {"a", {0, 2}}, {"b", {0, 1}}, {"c", {0, 1, 2}}}));
}

TEST(SlurmHostsTest, OutsideAnAllocation) {
  EXPECT_THAT(SlurmIssues({{"SLURM_TASKS_PER_NODE", "4"}}),
              ElementsAre(HasSubstr("SLURM_JOB_NODELIST: not set: this shell is not inside")));
}

}  // namespace
}  // namespace autodist::slurm
