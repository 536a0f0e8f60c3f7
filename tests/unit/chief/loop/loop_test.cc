#include "chief/loop/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace autodist::chief
