// The PMIx server of a node, in this process. tests/cluster/communication/test_mpi.py has real MPI
// programs as ranks.
#include "agent/mpi/pmix_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "support/chief_end.h"
#include "support/small_agent.h"

namespace autodist::agent {
namespace {

using test::ChiefEnd;
using testing::HasSubstr;

class PmixServiceTest : public testing::Test {
 protected:
  // Ranks 0 and 1 on node 0, and 2 on node 1.
  static v1::PmixWorld World(const std::string& name_space) {
    v1::PmixWorld world;
    world.set_name_space(name_space);
    v1::PmixNode& first = *world.add_nodes();
    first.set_address("fd77::1");
    first.add_ranks(0);
    first.add_ranks(1);
    v1::PmixNode& second = *world.add_nodes();
    second.set_address("fd77::2");
    second.add_ranks(2);
    return world;
  }
  static v1::NodePlan FirstNode() {
    v1::NodePlan node;
    node.add_ranks()->set_rank(0);
    node.add_ranks()->set_rank(1);
    return node;
  }
  static std::map<std::string, std::string> VariablesOf(const v1::RankPlan& rank) {
    std::map<std::string, std::string> variables;
    for (const auto& variable : rank.environment()) variables[variable.name()] = variable.value();
    return variables;
  }
  std::string WhyNot(const v1::PmixWorld& world, v1::NodePlan node) {
    return Message(agent_.pmix->Join(world, node));
  }

  test::SmallAgent agent_;
  const std::shared_ptr<grpc::Channel> channel_ = agent_.server->Channel();
  const std::unique_ptr<v1::AgentService::Stub> chief_ = v1::AgentService::NewStub(channel_);
};

TEST_F(PmixServiceTest, EachRankGetsTheVariablesOfItsWorldAndNewOnesAfterARestart) {
  for (const std::string name_space : {"first", "second"}) {
    v1::NodePlan node = FirstNode();
    const Status joined = agent_.pmix->Join(World(name_space), node);
    ASSERT_TRUE(joined.ok()) << Message(joined);
    for (int rank : {0, 1}) {
      auto variables = VariablesOf(node.ranks(rank));
      EXPECT_EQ(variables["PMIX_NAMESPACE"], name_space);
      EXPECT_EQ(variables["PMIX_RANK"], std::to_string(rank));
      EXPECT_EQ(variables["PMIX_HOSTNAME"], "fd77::1");
      EXPECT_THAT(variables["PMIX_SERVER_URI4"], HasSubstr("tcp4://127.0.0.1:"));
    }
  }
}

TEST_F(PmixServiceTest, ServiceProcessesAreNotInTheWorld) {
  v1::NodePlan node = FirstNode();
  v1::RankPlan& scheduler = *node.add_ranks();
  scheduler.set_rank(3);
  scheduler.set_auxiliary(true);
  const Status joined = agent_.pmix->Join(World("world"), node);
  ASSERT_TRUE(joined.ok()) << Message(joined);
  EXPECT_EQ(VariablesOf(node.ranks(1)).count("PMIX_RANK"), 1u);
  EXPECT_EQ(VariablesOf(node.ranks(2)).count("PMIX_RANK"), 0u);
}

TEST_F(PmixServiceTest, LeavesNoFolderOfRanks) {
  v1::NodePlan node = FirstNode();
  ASSERT_TRUE(agent_.pmix->Join(World("world"), node).ok());
  const std::string ranks = agent_.folder.path() + "/pmix/ranks";
  EXPECT_TRUE(std::filesystem::exists(ranks + "/1"));
  agent_.pmix->Leave();
  EXPECT_FALSE(std::filesystem::exists(ranks));
}

TEST_F(PmixServiceTest, RefusesAnInvalidWorld) {
  EXPECT_THAT(WhyNot(World(""), FirstNode()), HasSubstr("has 0 bytes"));
  EXPECT_THAT(WhyNot(World(std::string(300, 'x')), FirstNode()), HasSubstr("has 300 bytes"));
  v1::NodePlan other = FirstNode();
  other.set_node_rank(1);
  EXPECT_THAT(WhyNot(World("world"), other), HasSubstr("others than in the plan"));
  other.set_node_rank(2);
  EXPECT_THAT(WhyNot(World("world"), other), HasSubstr("not in the world"));
  v1::PmixWorld twice = World("world");
  twice.mutable_nodes(1)->add_ranks(1);
  EXPECT_THAT(WhyNot(twice, FirstNode()), HasSubstr("rank 2 is not on exactly one node"));
  v1::PmixWorld missing = World("world");
  missing.mutable_nodes(1)->set_ranks(0, 3);
  EXPECT_THAT(WhyNot(missing, FirstNode()), HasSubstr("rank 2 is not on exactly one node"));
}

TEST_F(PmixServiceTest, AQuestionAboutARemoteRankIsAnswered) {
  v1::NodePlan node = FirstNode();
  ASSERT_TRUE(agent_.pmix->Join(World("world"), node).ok());
  ChiefEnd chief(*chief_);
  chief.Resume();
  uint64_t id = 0;
  const auto ask = [&](const std::string& name_space, uint32_t rank) {
    v1::ChiefMessage message;
    message.mutable_modex_question()->set_id(++id);
    message.mutable_modex_question()->set_name_space(name_space);
    message.mutable_modex_question()->set_rank(rank);
    chief.Order(message, id);
    const v1::AgentEvent answer = chief.Next();
    EXPECT_EQ(answer.modex_answer().id(), id);
    return answer.modex_answer().error();
  };
  EXPECT_EQ(ask("world", 2), "rank 2 does not run here");
  EXPECT_EQ(ask("before", 1), "rank 1 does not run here");
}

}  // namespace
}  // namespace autodist::agent
