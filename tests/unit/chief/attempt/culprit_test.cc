#include "chief/attempt/culprit.h"

#include <gtest/gtest.h>

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

// Of rank 0's complaint, or another message of it.
std::optional<uint32_t> RankOf(const std::vector<RankFailure>& failures,
                               const FatalMessage& of = kComplaint) {
  const RankFailure* culprit = Culprit(0, of, failures);
  return culprit ? std::optional(culprit->rank) : std::nullopt;
}

TEST(CulpritTest, IsWhoFailedBeforeTheComplaint) {
  EXPECT_EQ(RankOf({{0, kComplaint}, {1, kReal}}), 1u);
  EXPECT_EQ(RankOf({{1, kReal}, {2, Message("ValueError: NaN", 0)}}), 2u);
}

TEST(CulpritTest, IsNobodyWhoComplainsTooOrFailedLater) {
  EXPECT_EQ(RankOf({{0, kComplaint}}), std::nullopt);
  EXPECT_EQ(RankOf({{1, Message("ConnectionResetError: Connection reset by peer", 1)}}),
            std::nullopt);
  EXPECT_EQ(RankOf({{1, Message("KeyError: 'x'", 4)}}), std::nullopt);
}

TEST(CulpritTest, WhoBlamesNoPeerIsItHimself) {
  EXPECT_EQ(RankOf({{1, kReal}}, Message("TypeError: None", 3)), std::nullopt);
}

}  // namespace
}  // namespace autodist::chief
