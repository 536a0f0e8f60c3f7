#include "chief/loop/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace autodist::chief {
namespace {

TEST(LoopTest, UrgentTasksRunBeforeEventsOfNodes) {
  Loop loop;
  std::vector<int> order;
  for (const int node : {1, 2}) loop.Post([&order, node] { order.push_back(node); });
  for (const int signal : {10, 11}) loop.PostUrgent([&order, signal] { order.push_back(signal); });
  loop.RunUntil([&] { return order.size() == 4; });
  EXPECT_THAT(order, testing::ElementsAre(10, 11, 1, 2));
}

TEST(LoopTest, GoesOnAfterAnException) {
  Loop loop;
  bool ran = false;
  loop.Post([] { throw std::runtime_error("unexpected"); });
  loop.Post([&] { ran = true; });
  EXPECT_THROW(loop.RunUntil([&] { return ran; }), std::runtime_error);
  EXPECT_TRUE(loop.RunUntil([&] { return ran; }));
}

TEST(LoopTest, ATimerThatThrowsIsNotCalledAgain) {
  Loop loop;
  int other = 0;
  loop.AddTimer([]() -> Loop::Time { throw std::runtime_error("unexpected"); });
  loop.AddTimer([&] {
    ++other;
    return Loop::Time::max();
  });
  EXPECT_THROW(loop.RunUntil([] { return false; }), std::runtime_error);
  EXPECT_TRUE(loop.RunUntil([&] { return other > 0; }));
}

}  // namespace
}  // namespace autodist::chief
