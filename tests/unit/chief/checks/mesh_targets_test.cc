#include "chief/checks/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(MeshTargetsTest, AFullMeshConnectsToAllOthers) {
  EXPECT_THAT(MeshTargets(0, 2, true), ElementsAre(1));
  EXPECT_THAT(MeshTargets(2, 5, true), ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(MeshTargets(63, 64, true).size(), 63u);
}

TEST(MeshTargetsTest, ASampleConnectsToNeighboursAndTheFirst) {
  EXPECT_THAT(MeshTargets(10, 100, false), ElementsAre(0, 9, 11, 12, 14, 18, 26, 42, 74));
  for (const uint32_t nodes : {65u, 100u, 1000u}) {
    std::vector<uint32_t> tried(nodes);
    for (uint32_t node = 0; node < nodes; ++node) {
      const std::vector<uint32_t> targets = MeshTargets(node, nodes, false);
      EXPECT_LE(targets.size(), 12u);
      EXPECT_THAT(targets, Contains((node + 1) % nodes));
      EXPECT_THAT(targets, Contains((node + nodes - 1) % nodes));
      for (const uint32_t target : targets) ++tried[target];
    }
    EXPECT_EQ(tried[0], nodes - 1);
    for (const uint32_t times : tried) EXPECT_GE(times, 7u);
  }
}

}  // namespace
}  // namespace autodist::chief
