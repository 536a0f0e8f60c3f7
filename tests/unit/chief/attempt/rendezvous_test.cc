#include "chief/attempt/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/limits.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

class RendezvousTest : public testing::Test {
 protected:
  void Set(const std::string& key, const std::string& value) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_set()->set_key(key);
    request.mutable_set()->set_value(value);
    Handle(request);
  }
  uint64_t Get(const std::string& key) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_get()->set_key(key);
    Handle(request);
    return id_;
  }
  uint64_t Enter(const std::string& name, uint32_t rank) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_barrier()->set_name(name);
    request.mutable_barrier()->set_rank(rank);
    Handle(request);
    return id_;
  }
  uint64_t Gather(uint32_t node, const std::vector<uint32_t>& ranks, const std::string& data,
                  const std::string& name_space = "world") {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_gather()->set_name_space(name_space);
    request.mutable_gather()->mutable_ranks()->Assign(ranks.begin(), ranks.end());
    request.mutable_gather()->set_data(data);
    Handle(request, node);
    return id_;
  }
  void Handle(const v1::RendezvousRequest& request, uint32_t node = 0) {
    rendezvous_.Handle(node, request, [this](const v1::RendezvousReply& reply) {
      EXPECT_FALSE(replies_.contains(reply.id())) << "answered twice";
      replies_[reply.id()] = reply;
    });
  }

  uint64_t id_ = 0;
  Rendezvous rendezvous_{{0, 1, 0, 2}, "world"};  // rank 1 on node 1, rank 3 on node 2
  std::map<uint64_t, v1::RendezvousReply> replies_;
};

TEST_F(RendezvousTest, AGetWaitsForItsKey) {
  const uint64_t early = Get("k");
  const uint64_t other = Get("other");
  EXPECT_FALSE(replies_.contains(early));
  Set("k", "v");
  EXPECT_EQ(replies_.at(early).value(), "v");
  EXPECT_FALSE(replies_.contains(other));
  EXPECT_EQ(replies_.at(Get("k")).value(), "v");
  Set("k", "w");
  EXPECT_EQ(replies_.at(Get("k")).value(), "w");
}

TEST_F(RendezvousTest, AnEmptyValueIsAValue) {
  Set("k", "");
  EXPECT_TRUE(replies_.contains(Get("k")));
}

TEST_F(RendezvousTest, ABarrierOpensWhenAllAreThereAndCanBeUsedAgain) {
  for (int round = 0; round < 2; ++round) {
    const uint64_t first = Enter("b", 0);
    const uint64_t second = Enter("b", 2);
    EXPECT_FALSE(replies_.contains(first));
    const uint64_t third = Enter("b", 1);
    const uint64_t fourth = Enter("b", 3);
    for (const uint64_t id : {first, second, third, fourth}) EXPECT_EQ(replies_.at(id).error(), "");
  }
}

TEST_F(RendezvousTest, RefusesWhatCannotBe) {
  Enter("b", 0);
  EXPECT_THAT(replies_.at(Enter("b", 0)).error(), HasSubstr("already"));
  EXPECT_THAT(replies_.at(Enter("b", 4)).error(), HasSubstr("not in the job"));
  Set("big", std::string(Rendezvous::kLargestValue + 1, 'x'));
  EXPECT_THAT(replies_.at(id_).error(), HasSubstr("1048576 are allowed"));
}

TEST_F(RendezvousTest, AGatherGivesAllNodesWhatAllHaveInTheirOrderAndCanBeDoneAgain) {
  for (const std::string round : {"x", "y"}) {
    const uint64_t last = Gather(2, {}, round + "2");
    const uint64_t first = Gather(0, {}, round + "0");
    EXPECT_FALSE(replies_.contains(last));
    const uint64_t middle = Gather(1, {}, "");
    for (const uint64_t id : {first, middle, last}) {
      EXPECT_EQ(replies_.at(id).error(), "");
      EXPECT_EQ(replies_.at(id).value(), round + "0" + round + "2");
    }
  }
}

TEST_F(RendezvousTest, GathersOfSomeRanksNeedTheirNodesAloneAndDoNotDisturbEachOther) {
  const uint64_t all = Gather(0, {}, "all");
  const uint64_t two = Gather(0, {0, 1}, "a");
  EXPECT_EQ(replies_.at(Gather(1, {0, 1}, "b")).value(), "ab");
  EXPECT_EQ(replies_.at(two).value(), "ab");
  EXPECT_EQ(replies_.at(Gather(0, {0, 2}, "alone")).value(), "alone");
  EXPECT_FALSE(replies_.contains(all));
}

TEST_F(RendezvousTest, RefusesGathersThatCannotBe) {
  EXPECT_THAT(replies_.at(Gather(0, {0, 4}, "")).error(), HasSubstr("rank 4 is not in the job"));
  EXPECT_THAT(replies_.at(Gather(0, {0, 0, 1}, "")).error(),
              HasSubstr("rank 0 is not in its place"));
  EXPECT_THAT(replies_.at(Gather(0, {2, 1}, "")).error(), HasSubstr("rank 2 is not in its place"));
  EXPECT_THAT(replies_.at(Gather(2, {0, 1}, "")).error(), HasSubstr("no rank of this node"));
  EXPECT_THAT(replies_.at(Gather(0, {}, "", "before")).error(), HasSubstr("no attempt that runs"));
  Gather(0, {0, 1}, "once");
  EXPECT_THAT(replies_.at(Gather(0, {0, 1}, "twice")).error(), HasSubstr("already"));
  Rendezvous without_pmix({0});
  v1::RendezvousRequest request;
  request.mutable_gather();
  bool refused = false;
  without_pmix.Handle(0, request, [&](const auto& reply) { refused = !reply.error().empty(); });
  EXPECT_TRUE(refused);
}

TEST_F(RendezvousTest, AGatherOfTooMuchFailsForAll) {
  const uint64_t first = Gather(0, {0, 1}, std::string(rpc::kLargestGather, 'x'));
  const uint64_t second = Gather(1, {0, 1}, "x");
  for (const uint64_t id : {first, second}) {
    EXPECT_THAT(replies_.at(id).error(), HasSubstr("33554432 are allowed"));
    EXPECT_EQ(replies_.at(id).value(), "");
  }
}

}  // namespace
}  // namespace autodist::chief
