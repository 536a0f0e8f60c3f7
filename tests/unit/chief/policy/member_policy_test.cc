#include "chief/policy/member_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A digit for each node: its number of GPUs. '-', '=': it has 8 and 4, and is left out; '~': it has
// 8, and may return; '+': it has 8, and something has to end there.
std::vector<Candidate> Nodes(const std::string& text) {
  std::vector<Candidate> nodes;
  for (const char c : text) {
    switch (c) {
      case '-':
        nodes.push_back({Availability::kNever, 8});
        break;
      case '=':
        nodes.push_back({Availability::kNever, 4});
        break;
      case '~':
        nodes.push_back({Availability::kReturning, 8});
        break;
      case '+':
        nodes.push_back({Availability::kConnected, 8});
        break;
      default:
        nodes.push_back({Availability::kIdle, static_cast<uint32_t>(c - '0')});
    }
  }
  return nodes;
}

Choice ChooseNow(std::vector<uint32_t> places, const std::vector<Candidate>& nodes) {
  return ChooseMembers({std::move(places)}, nodes, Availability::kIdle);
}

TEST(MemberPolicyTest, AWaitMakesMoreNodesAvailable) {
  const Places places{{0, 1, 2}};
  const auto nodes = Nodes("8~+8");
  EXPECT_THAT(ChooseMembers(places, nodes, Availability::kIdle).members, ElementsAre(0, 3));
  EXPECT_FALSE(ChooseMembers(places, nodes, Availability::kIdle).suffices);
  const Choice soon = ChooseMembers(places, nodes, Availability::kConnected);
  EXPECT_THAT(soon.members, ElementsAre(0, 3, 2));
  EXPECT_TRUE(soon.suffices);
  EXPECT_THAT(ChooseMembers(places, nodes, Availability::kReturning).members, ElementsAre(0, 1, 2));
}

TEST(MemberPolicyTest, ALeftOutNodeIsNeverChosen) {
  EXPECT_THAT(ChooseMembers({{0, 1}}, Nodes("8-"), Availability::kNever).members, ElementsAre(0));
}

TEST(MemberPolicyTest, FewerNodesSufficeWithAMinimum) {
  EXPECT_FALSE(ChooseMembers({{0, 1, 2}, 0}, Nodes("8-8"), Availability::kIdle).suffices);
  const Choice choice = ChooseMembers({{0, 1, 2}, 2}, Nodes("8-8"), Availability::kIdle);
  EXPECT_TRUE(choice.suffices);
  EXPECT_EQ(choice.needed, 2u);
  EXPECT_EQ(choice.empty, 1u);
  EXPECT_FALSE(ChooseMembers({{0, 1, 2}, 3}, Nodes("8-8"), Availability::kIdle).suffices);
}

TEST(MemberPolicyTest, AllKeepTheirPlaces) {
  const Choice choice = ChooseNow({0, 1, 2}, Nodes("88888"));
  EXPECT_THAT(choice.members, ElementsAre(0, 1, 2));
  EXPECT_EQ(choice.empty, 0u);
}

TEST(MemberPolicyTest, ASpareTakesThePlaceOfALostNode) {
  const Choice choice = ChooseNow({0, 1, 2}, Nodes("8-888"));
  EXPECT_THAT(choice.members, ElementsAre(0, 3, 2));
  EXPECT_THAT(choice.places, ElementsAre(0, 3, 2));
}

TEST(MemberPolicyTest, ASpareThatWasMovedKeepsItsPlace) {
  EXPECT_THAT(ChooseNow({0, 3, 2}, Nodes("88888")).members, ElementsAre(0, 3, 2));
}

TEST(MemberPolicyTest, ANodeThatReturnedIsASpare) {
  EXPECT_THAT(ChooseNow({0, 3, 2}, Nodes("88-88")).members, ElementsAre(0, 3, 1));
}

TEST(MemberPolicyTest, AnotherNumberOfDevicesDoesNotFit) {
  EXPECT_THAT(ChooseNow({0, 1}, Nodes("8-48")).members, ElementsAre(0, 3));
  const Choice choice = ChooseNow({0, 1}, Nodes("8-44"));
  EXPECT_THAT(choice.members, ElementsAre(0));
  EXPECT_EQ(choice.empty, 1u);
  EXPECT_THAT(ChooseNow({0, 1}, Nodes("8=84")).members, ElementsAre(0, 3));
}

TEST(MemberPolicyTest, ANodeWithoutGpusDoesNotReplaceOneWithGpus) {
  std::vector<Candidate> nodes = Nodes("8-8");
  nodes[2] = {.available = Availability::kIdle, .gpus = 0, .cpus = 8};
  EXPECT_THAT(ChooseNow({0, 1}, nodes).members, ElementsAre(0));
}

TEST(MemberPolicyTest, MoreAreLostThanThereAreSpares) {
  const Choice choice = ChooseNow({0, 1, 2, 3}, Nodes("8---8"));
  EXPECT_THAT(choice.members, ElementsAre(0, 4));
  EXPECT_EQ(choice.empty, 2u);
}

TEST(MemberPolicyTest, WithoutSparesThePlacesStayEmpty) {
  const Choice choice = ChooseNow({0, 1, 2}, Nodes("8-8"));
  EXPECT_THAT(choice.members, ElementsAre(0, 2));
  EXPECT_THAT(choice.places, ElementsAre(0, 1, 2)) << "it gets its place back";
  EXPECT_EQ(choice.empty, 1u);
  EXPECT_THAT(ChooseNow({0, 1}, Nodes("--")).members, IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
