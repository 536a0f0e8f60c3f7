#include "chief/attempt/modex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/limits.h"

namespace autodist::chief {
namespace {

using testing::HasSubstr;

class ModexTest : public testing::Test {
 protected:
  void Ask(uint64_t id, uint32_t rank, const std::string& name_space = "world", uint32_t node = 0) {
    v1::RendezvousRequest request;
    request.set_id(id);
    request.mutable_modex()->set_name_space(name_space);
    request.mutable_modex()->set_rank(rank);
    modex_.Handle(node, request,
                  [this](uint64_t to, const SharedValue& value, const std::string& error) {
                    EXPECT_FALSE(replies_.contains(to)) << "answered twice";
                    replies_[to].set_error(error);
                    if (value) replies_[to].set_value(*value);
                  });
  }
  void Answer(uint32_t node, uint64_t id, const std::string& data, const std::string& error = "") {
    v1::ModexAnswer answer;
    answer.set_id(id);
    answer.set_data(data);
    answer.set_error(error);
    modex_.Answered(node, answer);
  }

  std::vector<std::pair<uint32_t, v1::ModexQuestion>> asked_;
  std::map<uint64_t, v1::RendezvousReply> replies_;
  Values values_;
  WaitingCalls calls_;
  Modex modex_{{0, 1, 1},
               "world",
               values_,
               calls_,
               uint64_t{3} << 32,
               [this](uint32_t node, const v1::ModexQuestion& question) {
                 asked_.emplace_back(node, question);
               }};
};

TEST_F(ModexTest, TheNodeOfTheRankAnswersTheRequest) {
  Ask(7, 2);
  Ask(7000, 0);
  ASSERT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[0].first, 1u);
  EXPECT_EQ(asked_[0].second.rank(), 2u);
  EXPECT_EQ(asked_[0].second.name_space(), "world");
  EXPECT_EQ(asked_[1].first, 0u);
  Answer(0, asked_[1].second.id(), "of rank 0");
  EXPECT_FALSE(replies_.contains(7));
  EXPECT_EQ(replies_.at(7000).value(), "of rank 0");
  Answer(1, asked_[0].second.id(), "", "gone");
  EXPECT_EQ(replies_.at(7).error(), "gone");
}

TEST_F(ModexTest, OnlyTheNodeThatWasAskedMayAnswerOnce) {
  Ask(7, 2);
  const uint64_t id = asked_.at(0).second.id();
  EXPECT_GE(id, uint64_t{3} << 32);  // of this attempt
  Answer(0, id, "another's");
  Answer(1, id + 1, "to nothing");
  EXPECT_TRUE(replies_.empty());
  Answer(1, id, "right");
  Answer(1, id, "again");
  EXPECT_EQ(replies_.at(7).value(), "right");
}

TEST_F(ModexTest, ANodeIsAskedOnceForTheSameRank) {
  uint64_t id = 1;
  for (; !replies_.contains(id - 1); ++id) {
    ASSERT_LE(id * WaitingCalls::kCostOfCall, 2 * WaitingCalls::kMaxOfNode);
    Ask(id, 2);
  }
  EXPECT_THAT(replies_.at(id - 1).error(), HasSubstr("wait for already have"));
  EXPECT_GT(id, 60'000u);
  Ask(id + 1, 2, "world", 1);
  Ask(id + 2, 1, "world", 2);
  ASSERT_EQ(asked_.size(), 2u);
  Answer(1, asked_[0].second.id(), "of rank 2");
  EXPECT_EQ(replies_.size(), id);
  EXPECT_EQ(replies_.at(1).value(), "of rank 2");
  EXPECT_EQ(replies_.at(id + 1).value(), "of rank 2");
  EXPECT_FALSE(replies_.contains(id + 2));
  Ask(id + 3, 2);  // it may have published more
  ASSERT_EQ(asked_.size(), 3u);
  EXPECT_NE(asked_[2].second.id(), asked_[0].second.id());
}

TEST_F(ModexTest, RefusesInvalidRequests) {
  Ask(1, 3);
  EXPECT_THAT(replies_.at(1).error(), HasSubstr("rank 3 is not in the job"));
  Ask(2, 0, "before");
  EXPECT_THAT(replies_.at(2).error(), HasSubstr("the running attempt"));
  EXPECT_TRUE(asked_.empty());
  Ask(3, 0);
  Answer(0, asked_.at(0).second.id(), std::string(rpc::kLargestModex + 1, 'x'));
  EXPECT_THAT(replies_.at(3).error(), HasSubstr("1048576 are allowed"));
}

}  // namespace
}  // namespace autodist::chief
