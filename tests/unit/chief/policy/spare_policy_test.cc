#include "chief/policy/spare_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A digit for each node: its number of GPUs; '-' and '=': it has 8 and 4, but is not available.
std::vector<Candidate> Nodes(const std::string& text) {
  std::vector<Candidate> nodes;
  for (const char c : text) {
    const bool available = c != '-' && c != '=';
    nodes.push_back({available, available ? static_cast<uint32_t>(c - '0') : c == '-' ? 8u : 4u});
  }
  return nodes;
}

TEST(SparePolicyTest, AllKeepTheirPlaces) {
  const Choice choice = ChooseMembers({0, 1, 2}, Nodes("88888"));
  EXPECT_THAT(choice.members, ElementsAre(0, 1, 2));
  EXPECT_EQ(choice.empty, 0u);
}

TEST(SparePolicyTest, ASpareTakesThePlaceOfALostNode) {
  const Choice choice = ChooseMembers({0, 1, 2}, Nodes("8-888"));
  EXPECT_THAT(choice.members, ElementsAre(0, 3, 2));
  EXPECT_THAT(choice.places, ElementsAre(0, 3, 2));
}

TEST(SparePolicyTest, ASpareThatWasMovedKeepsItsPlace) {
  EXPECT_THAT(ChooseMembers({0, 3, 2}, Nodes("88888")).members, ElementsAre(0, 3, 2));
}

TEST(SparePolicyTest, ANodeThatReturnedIsASpare) {
  EXPECT_THAT(ChooseMembers({0, 3, 2}, Nodes("88-88")).members, ElementsAre(0, 3, 1));
}

TEST(SparePolicyTest, AnotherNumberOfDevicesDoesNotFit) {
  EXPECT_THAT(ChooseMembers({0, 1}, Nodes("8-48")).members, ElementsAre(0, 3));
  const Choice choice = ChooseMembers({0, 1}, Nodes("8-44"));
  EXPECT_THAT(choice.members, ElementsAre(0));
  EXPECT_EQ(choice.empty, 1u);
  EXPECT_THAT(ChooseMembers({0, 1}, Nodes("8=84")).members, ElementsAre(0, 3));
}

TEST(SparePolicyTest, ANodeWithoutGpusDoesNotReplaceOneWithGpus) {
  std::vector<Candidate> nodes = Nodes("8-8");
  nodes[2] = {.available = true, .gpus = 0, .cpus = 8};
  EXPECT_THAT(ChooseMembers({0, 1}, nodes).members, ElementsAre(0));
}

TEST(SparePolicyTest, MoreAreLostThanThereAreSpares) {
  const Choice choice = ChooseMembers({0, 1, 2, 3}, Nodes("8---8"));
  EXPECT_THAT(choice.members, ElementsAre(0, 4));
  EXPECT_EQ(choice.empty, 2u);
}

TEST(SparePolicyTest, WithoutSparesThePlacesStayEmpty) {
  const Choice choice = ChooseMembers({0, 1, 2}, Nodes("8-8"));
  EXPECT_THAT(choice.members, ElementsAre(0, 2));
  EXPECT_THAT(choice.places, ElementsAre(0, 1, 2)) << "it gets its place back";
  EXPECT_EQ(choice.empty, 1u);
  EXPECT_THAT(ChooseMembers({0, 1}, Nodes("--")).members, IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
