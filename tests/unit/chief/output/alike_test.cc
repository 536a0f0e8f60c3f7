#include "chief/output/alike.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using Words = Alike<std::string>;

class AlikeTest : public testing::Test {
 protected:
  size_t Add(const std::string& key) { return words_.Add(key, now_, more_); }

  Words words_;
  Loop::Time now_{std::chrono::hours(1)};
  std::vector<std::pair<std::string, size_t>> reported_;
  const std::function<void(const std::string&, size_t)> more_ =
      [this](const std::string& key, size_t count) { reported_.emplace_back(key, count); };
};

TEST_F(AlikeTest, OfThousandsAtTheSameTimeTheFirstAreSaidAndTheOthersCounted) {
  size_t said = 0;
  for (int i = 0; i < 9'000; ++i) said += Add("ended") <= Words::kMost ? 1 : 0;
  EXPECT_EQ(said, Words::kMost);
  EXPECT_EQ(Add("lost"), 1u);  // something else
  words_.End(more_);
  EXPECT_THAT(reported_, ElementsAre(Pair("ended", 9'000 - Words::kMost)));
  EXPECT_EQ(Add("ended"), 1u);
}

TEST_F(AlikeTest, WhatHappensNowAndThenIsAlwaysSaid) {
  for (int i = 0; i < 9'000; ++i) {
    EXPECT_LE(Add("away"), Words::kMost);
    now_ += Words::kWindow / 10;
  }
  EXPECT_THAT(reported_, IsEmpty());
}

TEST_F(AlikeTest, ForgetsWhatIsNeverTheSame) {
  for (int i = 0; i < 100'000; ++i) EXPECT_EQ(Add(std::to_string(i)), 1u);
  EXPECT_THAT(reported_, IsEmpty());
}

}  // namespace
}  // namespace autodist::chief
