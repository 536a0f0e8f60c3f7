#include "chief/fleet/reliable_outbox.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

v1::ChiefMessage ReplyWith(const std::string& error = "") {
  v1::ChiefMessage message;
  message.mutable_rendezvous_reply()->set_error(error);
  return message;
}

std::shared_ptr<const std::string> Value(size_t size) {
  return std::make_shared<const std::string>(size, 'v');
}

TEST(ReliableOutboxTest, OrdersAreNumberedAndSentOnce) {
  ReliableOutbox orders;
  EXPECT_TRUE(orders.Add(ReplyWith("one"), nullptr));
  EXPECT_TRUE(orders.Add(ReplyWith("two"), Value(3)));
  const auto first = orders.Next();
  const auto second = orders.Next();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->sequence(), 1);
  EXPECT_EQ(first->rendezvous_reply().error(), "one");
  EXPECT_EQ(second->sequence(), 2);
  EXPECT_EQ(second->rendezvous_reply().value(), "vvv");
  EXPECT_FALSE(orders.Next());
}

TEST(ReliableOutboxTest, UnacknowledgedOrdersAreSentAgainInTheNextSession) {
  ReliableOutbox orders;
  for (int i = 0; i < 3; ++i) orders.Add(ReplyWith(), nullptr);
  while (orders.Next()) {
  }
  orders.Acknowledged(1);
  orders.BeginSession();
  EXPECT_EQ(orders.Next()->sequence(), 2);
  orders.Acknowledged(3);  // the third is known from the previous session
  EXPECT_FALSE(orders.Next());
  orders.Add(ReplyWith(), nullptr);
  EXPECT_EQ(orders.Next()->sequence(), 4);
}

TEST(ReliableOutboxTest, LargeValuesWaitUntilThoseBeforeAreAcknowledged) {
  ReliableOutbox orders;
  for (int i = 0; i < 3; ++i) orders.Add(ReplyWith(), Value(ReliableOutbox::kWindow));
  EXPECT_EQ(orders.Next()->sequence(), 1) << "one of any size may be on its way";
  EXPECT_FALSE(orders.Next());
  orders.Acknowledged(1);
  EXPECT_EQ(orders.Next()->sequence(), 2);
  EXPECT_FALSE(orders.Next());
  orders.BeginSession();
  EXPECT_EQ(orders.Next()->sequence(), 2);
}

TEST(ReliableOutboxTest, AnAgentThatAcknowledgesNothingIsNotSentOrdersForever) {
  ReliableOutbox orders;
  const std::string large(ReliableOutbox::kMaxBytes / 8, 'e');
  int taken = 0;
  while (taken < 10 && orders.Add(ReplyWith(large), nullptr)) ++taken;
  EXPECT_EQ(taken, 7);
  orders.Drop();
  EXPECT_TRUE(orders.Add(ReplyWith(large), nullptr));
  EXPECT_EQ(orders.Next()->sequence(), taken + 2) << "numbers are not used again";
}

}  // namespace
}  // namespace autodist::chief
