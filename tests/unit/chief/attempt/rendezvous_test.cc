#include "chief/attempt/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/deadline.h"
#include "rpc/limits.h"
#include "support/limit.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

class RendezvousTest : public testing::Test {
 protected:
  void Set(const std::string& key, const std::string& value, uint32_t node = 0) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_set()->set_key(key);
    request.mutable_set()->set_value(value);
    Handle(request, node);
  }
  uint64_t Get(const std::string& key, uint32_t node = 0) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_get()->set_key(key);
    Handle(request, node);
    return id_;
  }
  uint64_t Enter(const std::string& name, uint32_t rank) {
    return Enter(name, rank, rank < kNodeOf.size() ? kNodeOf[rank] : 0);
  }
  uint64_t Enter(const std::string& name, uint32_t rank, uint32_t node) {
    v1::RendezvousRequest request;
    request.set_id(++id_);
    request.mutable_barrier()->set_name(name);
    request.mutable_barrier()->set_rank(rank);
    Handle(request, node);
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
    rendezvous_.Handle(node, request,
                       [this](uint64_t id, const SharedValue& value, const std::string& error) {
                         EXPECT_FALSE(replies_.contains(id)) << "answered twice";
                         replies_[id].set_id(id);
                         replies_[id].set_error(error);
                         if (value) replies_[id].set_value(*value);
                       });
  }
  void Cancel(uint64_t id, uint32_t node = 0) {
    v1::RendezvousRequest request;
    request.set_id(id);
    request.mutable_cancel();
    Handle(request, node);
  }

  static inline const std::vector<uint32_t> kNodeOf = {0, 1, 0, 2};  // by rank
  uint64_t id_ = 0;
  Values values_;
  WaitingCalls calls_;
  Rendezvous rendezvous_{kNodeOf, "world", values_, calls_};
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

TEST_F(RendezvousTest, ABarrierOpensWhenAllHaveEnteredAndIsReusable) {
  for (int round = 0; round < 2; ++round) {
    const uint64_t first = Enter("b", 0);
    const uint64_t second = Enter("b", 2);
    EXPECT_FALSE(replies_.contains(first));
    const uint64_t third = Enter("b", 1);
    const uint64_t fourth = Enter("b", 3);
    for (const uint64_t id : {first, second, third, fourth}) EXPECT_EQ(replies_.at(id).error(), "");
  }
}

TEST_F(RendezvousTest, RefusesInvalidRequests) {
  Enter("b", 0);
  EXPECT_THAT(replies_.at(Enter("b", 0)).error(), HasSubstr("already"));
  EXPECT_THAT(replies_.at(Enter("b", 4)).error(), HasSubstr("4 is not a rank of this node"));
  Set("big", std::string(rpc::kLargestValue + 1, 'x'));
  EXPECT_THAT(replies_.at(id_).error(), HasSubstr("1048576 are allowed"));
}

TEST_F(RendezvousTest, AGatherGivesAllNodesAllDataInOrderAndIsReusable) {
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

TEST_F(RendezvousTest, GathersOfSomeRanksInvolveOnlyTheirNodesAndAreIndependent) {
  const uint64_t all = Gather(0, {}, "all");
  const uint64_t two = Gather(0, {0, 1}, "a");
  EXPECT_EQ(replies_.at(Gather(1, {0, 1}, "b")).value(), "ab");
  EXPECT_EQ(replies_.at(two).value(), "ab");
  EXPECT_EQ(replies_.at(Gather(0, {0, 2}, "alone")).value(), "alone");
  EXPECT_FALSE(replies_.contains(all));
}

TEST_F(RendezvousTest, RefusesInvalidGathers) {
  EXPECT_THAT(replies_.at(Gather(0, {0, 4}, "")).error(), HasSubstr("rank 4 is not in the job"));
  EXPECT_THAT(replies_.at(Gather(0, {0, 0, 1}, "")).error(),
              HasSubstr("rank 0 is not in its place"));
  EXPECT_THAT(replies_.at(Gather(0, {2, 1}, "")).error(), HasSubstr("rank 2 is not in its place"));
  EXPECT_THAT(replies_.at(Gather(2, {0, 1}, "")).error(), HasSubstr("no rank of this node"));
  EXPECT_THAT(replies_.at(Gather(0, {}, "", "before")).error(), HasSubstr("the running attempt"));
  Gather(0, {0, 1}, "once");
  EXPECT_THAT(replies_.at(Gather(0, {0, 1}, "twice")).error(), HasSubstr("already"));
  Rendezvous without_pmix({0}, "", values_, calls_);
  v1::RendezvousRequest request;
  request.mutable_gather();
  bool refused = false;
  without_pmix.Handle(0, request, [&](uint64_t, const auto&, const std::string& error) {
    refused = !error.empty();
  });
  EXPECT_TRUE(refused);
}

TEST_F(RendezvousTest, AGatherThatIsTooLargeFailsForAll) {
  EXPECT_THAT(
      replies_.at(Gather(0, {0, 1}, std::string(rpc::kLargestContribution + 1, 'x'))).error(),
      HasSubstr("4194304 are allowed"));
  constexpr uint32_t kNodes = rpc::kLargestGather / rpc::kLargestContribution + 1;
  std::vector<uint32_t> each_its_node(kNodes);
  std::iota(each_its_node.begin(), each_its_node.end(), 0);
  Rendezvous many(each_its_node, "world", values_, calls_);
  int refused = 0;
  for (uint32_t node = 0; node < kNodes; ++node) {
    v1::RendezvousRequest request;
    request.mutable_gather()->set_name_space("world");
    request.mutable_gather()->set_data(std::string(rpc::kLargestContribution, 'x'));
    many.Handle(node, request, [&](uint64_t, const SharedValue& value, const std::string& error) {
      EXPECT_FALSE(value);
      EXPECT_THAT(error, HasSubstr("33554432 are allowed"));
      ++refused;
    });
  }
  EXPECT_EQ(refused, kNodes);
}

TEST_F(RendezvousTest, ACancelledCallIsForgotten) {
  const std::string name(rpc::kMaxNameLength, 'n');
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t barrier = Enter(name + std::to_string(i % 10).substr(1), 0);
    const uint64_t get = Get(name);
    ASSERT_FALSE(replies_.contains(barrier) || replies_.contains(get)) << i;
    Cancel(barrier);
    Cancel(get);
  }
  Enter("b", 0);
  Cancel(Enter("b", 1), 1);
  const uint64_t again = Enter("b", 1);
  Enter("b", 2);
  EXPECT_FALSE(replies_.contains(again));
  Enter("b", 3);
  EXPECT_EQ(replies_.at(again).error(), "");
  Cancel(again);  // too late
  Cancel(12345);  // unknown call
}

TEST_F(RendezvousTest, ANodeCanCancelOnlyItsOwnCalls) {
  const uint64_t get = Get("k");
  Cancel(get, 1);
  Set("k", "v");
  EXPECT_EQ(replies_.at(get).value(), "v");
}

TEST_F(RendezvousTest, ANodeEntersABarrierOnlyForItsOwnRanks) {
  EXPECT_THAT(replies_.at(Enter("b", 0, 1)).error(), HasSubstr("0 is not a rank of this node"));
  for (uint32_t rank = 0; rank < kNodeOf.size(); ++rank) Enter("b", rank);
  EXPECT_EQ(replies_.at(id_).error(), "");
}

TEST_F(RendezvousTest, KeysBelowTheNameOfANodeAreSetByThatNodeOnly) {
  struct Case {
    const char* key;
    uint32_t node;
    bool allowed;
  };
  for (const auto& [key, node, allowed] : {
           Case{"autodist/node-0/x", 0, true},
           Case{"autodist/node-0/x", 2, false},
           Case{"autodist/node-0/remote-shell/1/0", 1, false},
           Case{"autodist/node-1/remote-shell/next", 1, true},
           Case{"autodist/node-1/remote-shell/next", 0, false},
           Case{"autodist/node-1", 1, false},
           Case{"autodist/node-12/x", 1, false},
           Case{"autodist/node-1/x", 12, false},
           Case{"autodist/node-01/x", 1, false},
           Case{"autodist/", 0, false},
           Case{"autodist/other", 0, false},
           Case{"autodist", 1, true},
           Case{"/autodist/node-0/x", 1, true},
           Case{"Autodist/node-0/x", 1, true},
           Case{"", 1, true},
       }) {
    Set(key, "v", node);
    EXPECT_EQ(replies_.at(id_).error().empty(), allowed) << key << " of node " << node;
  }
  EXPECT_FALSE(replies_.contains(Get("autodist/node-0/remote-shell/1/0")));
}

TEST_F(RendezvousTest, ManyCallsAreCancelledInTheOrderInWhichTheyWereMade) {
  const base::Deadline limit = base::Deadline::After(test::kLimit);
  std::vector<std::pair<uint64_t, uint32_t>> waiting;
  for (int i = 0; i < 60'000; ++i) {
    for (uint32_t node = 0; node < 4; ++node) waiting.emplace_back(Get("k", node), node);
  }
  const uint64_t last = Get("k", 5);
  for (const auto& [id, node] : waiting) {
    Cancel(id, node);
    ASSERT_FALSE(limit.Expired());
  }
  Set("k", "v");
  EXPECT_EQ(replies_.at(last).value(), "v");
  EXPECT_FALSE(replies_.contains(waiting[0].first));
}

TEST_F(RendezvousTest, ANodesPendingCallsAreLimited) {
  uint64_t refused = 0;
  for (size_t i = 0; refused == 0; ++i) {
    ASSERT_LE(i * WaitingCalls::kCostOfCall, WaitingCalls::kMaxOfNode);
    const uint64_t id = Get("key " + std::to_string(i));
    if (replies_.contains(id)) refused = id;
  }
  EXPECT_THAT(replies_.at(refused).error(), HasSubstr("wait for already have 17 MB"));
  v1::RendezvousRequest request;
  request.set_id(++id_);
  request.mutable_get()->set_key("other");
  Handle(request, 1);
  EXPECT_FALSE(replies_.contains(id_));  // another node still may
  Set("key 0", "v");
  EXPECT_FALSE(replies_.contains(Get("one more")));
}

TEST_F(RendezvousTest, NamesHaveAMaxLength) {
  const std::string name(rpc::kMaxNameLength + 1, 'n');
  Set(name, "");
  EXPECT_THAT(replies_.at(id_).error(), HasSubstr("4096 are allowed"));
  EXPECT_THAT(replies_.at(Get(name)).error(), HasSubstr("4096 are allowed"));
  EXPECT_THAT(replies_.at(Enter(name, 0)).error(), HasSubstr("4096 are allowed"));
}

TEST_F(RendezvousTest, ValuesThatAreStillBeingSentCountAsStored) {
  std::vector<SharedValue> on_their_way;
  const auto keep = [&](uint64_t, const SharedValue& value, const std::string&) {
    if (value) on_their_way.push_back(value);
  };
  v1::RendezvousRequest get;
  get.mutable_get()->set_key("k");
  const std::string value(rpc::kLargestValue, 'v');
  for (size_t i = 0; i < Values::kMaxOfNode / rpc::kLargestValue - 1; ++i) {
    Set("k", value);
    ASSERT_EQ(replies_.at(id_).error(), "");
    rendezvous_.Handle(0, get, keep);
    rendezvous_.Handle(0, get, keep);  // the same call
  }
  Set("k", value);
  EXPECT_THAT(replies_.at(id_).error(), HasSubstr("store is full"));
  Set("k", value, 1);
  EXPECT_EQ(replies_.at(id_).error(), "");
  on_their_way.clear();
  Set("k", value);
  EXPECT_EQ(replies_.at(id_).error(), "");
}

}  // namespace
}  // namespace autodist::chief
