#include "chief/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  void Handle(const v1::RendezvousRequest& request) {
    rendezvous_.Handle(request, [this](const v1::RendezvousReply& reply) {
      EXPECT_FALSE(replies_.contains(reply.id())) << "answered twice";
      replies_[reply.id()] = reply;
    });
  }

  uint64_t id_ = 0;
  Rendezvous rendezvous_{3};
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
    for (const uint64_t id : {first, second, third}) EXPECT_EQ(replies_.at(id).error(), "");
  }
}

TEST_F(RendezvousTest, RefusesWhatCannotBe) {
  Enter("b", 0);
  EXPECT_THAT(replies_.at(Enter("b", 0)).error(), HasSubstr("already"));
  EXPECT_THAT(replies_.at(Enter("b", 3)).error(), HasSubstr("not in the job"));
  Set("big", std::string(Rendezvous::kLargestValue + 1, 'x'));
  EXPECT_THAT(replies_.at(id_).error(), HasSubstr("1048576 are allowed"));
}

}  // namespace
}  // namespace autodist::chief
