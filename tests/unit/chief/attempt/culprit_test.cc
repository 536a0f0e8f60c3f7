#include "chief/attempt/culprit.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace autodist::chief {
namespace {

using std::chrono::seconds;
using Time = std::chrono::steady_clock::time_point;

FatalMessage Message(const std::string& text, int at_s) {
  return {FatalMessage::Weight::kFatal, text, {text}, Time(seconds(at_s))};
}

const FatalMessage kComplaint =
    Message("RuntimeError: [pair.cc:598] Connection closed by peer [10.77.0.2]:41187", 3);
const FatalMessage kReal = Message("KeyError: 'labels_v2', train.py:5", 1);

// The culprit for rank 0's complaint, or for another message of rank 0.
std::optional<uint32_t> RankOf(const std::vector<RankFailure>& failures,
                               const FatalMessage& of = kComplaint) {
  const RankFailure* culprit = Culprit(0, of, failures);
  return culprit ? std::optional(culprit->rank) : std::nullopt;
}

TEST(CulpritTest, FailedBeforeTheComplaint) {
  EXPECT_EQ(RankOf({{0, kComplaint}, {1, kReal}}), 1u);
  EXPECT_EQ(RankOf({{1, kReal}, {2, Message("ValueError: NaN", 0)}}), 2u);
}

TEST(CulpritTest, IsNoRankThatComplainsTooOrFailedLater) {
  EXPECT_EQ(RankOf({{0, kComplaint}}), std::nullopt);
  EXPECT_EQ(RankOf({{1, Message("ConnectionResetError: Connection reset by peer", 1)}}),
            std::nullopt);
  EXPECT_EQ(RankOf({{1, Message("KeyError: 'x'", 4)}}), std::nullopt);
}

TEST(CulpritTest, AnErrorThatBlamesNoPeerHasNoOtherCulprit) {
  EXPECT_EQ(RankOf({{1, kReal}}, Message("TypeError: None", 3)), std::nullopt);
}

TEST(EndedEarlierTest, IsTheRankThatTheComplaintNamesOtherwiseTheFirst) {
  v1::LaunchPlan plan;
  for (uint32_t node = 0; node < 3; ++node) {
    plan.add_nodes()->set_node_rank(node);
    plan.mutable_nodes()->rbegin()->set_address("10.77.0." + std::to_string(node + 1));
  }
  const std::vector<EndedWell> ended = {{5, 2, 100}, {4, 1, 200}};
  ASSERT_NE(EndedEarlier(kComplaint, ended, plan), nullptr);
  EXPECT_EQ(EndedEarlier(kComplaint, ended, plan)->rank, 4u);
  EXPECT_EQ(EndedEarlier(Message("Connection closed by peer [10.77.0.20]:7", 3), ended, plan)->rank,
            5u);
  EXPECT_EQ(EndedEarlier(Message("Broken pipe", 3), ended, plan)->rank, 5u);
  EXPECT_EQ(EndedEarlier(kReal, ended, plan), nullptr);
  EXPECT_EQ(EndedEarlier(kComplaint, {}, plan), nullptr);
}

TEST(LostBeforeTest, IsASilentNodeThatTheComplaintNamesOtherwiseTheFirst) {
  v1::LaunchPlan plan;
  for (uint32_t node = 0; node < 4; ++node) {
    plan.add_nodes()->set_node_rank(node);
    plan.mutable_nodes()->rbegin()->set_address("10.77.0." + std::to_string(node + 1));
  }
  const auto lost = [](uint32_t node, int64_t last_contact_ns) {
    return Cause{Cause::Kind::kNodeLost, node, {}, OkStatus(), 0, {}, {}, last_contact_ns};
  };
  Cause failed{Cause::Kind::kRankFailed, 0, {}, OkStatus(), 0};
  failed.exit.set_time_ns(100);
  const std::vector<Cause> later = {lost(0, 50), lost(2, 101),
                                    Cause{Cause::Kind::kTimedOut, 0, {}, OkStatus(), 0},
                                    lost(3, 100), lost(1, 80)};
  const auto found = [&](const FatalMessage& complaint, size_t count) -> std::optional<uint32_t> {
    const std::vector<Cause> first(later.begin(), later.begin() + static_cast<ptrdiff_t>(count));
    const Cause* const one = LostBefore(complaint, failed, first, plan);
    return one ? std::optional(one->node_rank) : std::nullopt;
  };
  EXPECT_EQ(found(kComplaint, 3), std::nullopt);  // its own node, and one that answered later
  EXPECT_EQ(found(kComplaint, 4), 3u);
  EXPECT_EQ(found(kComplaint, 5), 1u);
  EXPECT_EQ(found(Message("Broken pipe", 3), 5), 3u);
  EXPECT_EQ(found(kReal, 5), std::nullopt);
}

using Enqueued = std::map<uint32_t, EnqueuedCollectives>;

TEST(NotEnqueuedTest, IsTheRankWithFewerCollectivesInTheSameGroup) {
  const Enqueued behind = {{0, {"a", 7}}, {1, {"a", 7}}, {2, {"a", 6}}, {3, {"b", 2}}};
  EXPECT_EQ(WhoDidNotEnqueue(behind, {}).ranks, std::vector<uint32_t>{2});
  EXPECT_EQ(WhoDidNotEnqueue(behind, {4}).collective, 7u);
}

TEST(NotEnqueuedTest, IsTheOnlyRankWithoutAMessage) {
  const Enqueued same = {{0, {"", 7}}, {1, {"", 7}}};
  EXPECT_EQ(WhoDidNotEnqueue(same, {2}).ranks, std::vector<uint32_t>{2});
  EXPECT_TRUE(WhoDidNotEnqueue(same, {2, 3}).ranks.empty());
  EXPECT_TRUE(WhoDidNotEnqueue(same, {}).ranks.empty());
  EXPECT_TRUE(WhoDidNotEnqueue({{0, {"", 7}}}, {1}).ranks.empty());
}

}  // namespace
}  // namespace autodist::chief
